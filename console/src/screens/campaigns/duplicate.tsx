import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { newActionKey, useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Failed } from '../../ui/states.tsx';
import type { CampaignRecord } from './queries.ts';

/** Makes a draft with the audience, the content, the variants and the goal of the campaign as it was saved, and opens it. */
export function Duplicate({ campaign: { id } }: { campaign: CampaignRecord }) {
  const navigate = useNavigate();
  const [key, setKey] = useState(newActionKey);
  const duplicate = useChange('campaigns.duplicate');
  const copy = () =>
    duplicate.mutate(
      { inputs: [id, {}], idempotency_key: key },
      {
        onSuccess: ({ data }) => {
          setKey(newActionKey());
          void navigate({
            to: '/campaigns/$id',
            params: { id: data.id },
            search: ({ project }) => ({ project }),
          });
        },
      },
    );
  return (
    <>
      <Button onClick={copy} disabled={duplicate.isPending}>
        {t.form.duplicate}
      </Button>
      {duplicate.error === null ? null : <Failed error={duplicate.error} />}
    </>
  );
}
