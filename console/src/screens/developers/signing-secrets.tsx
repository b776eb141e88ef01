import { useState } from 'react';
import type { WebhookSecret } from '@player-engagement/client/admin';
import { useChange } from '../../api/queries.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Buttons } from '../../ui/form.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty, Failed } from '../../ui/states.tsx';
import { useSigningSecrets } from './queries.ts';
import { Secret } from './secret.tsx';

const m = t.developers.signing;

/** The secrets that sign the webhooks of journeys: the newest signs. A new one is shown once. */
export function SigningSecrets() {
  const pages = useSigningSecrets();
  const create = useChange('webhookSecrets.create');
  const [deletes, setDeletes] = useState<WebhookSecret>();
  const newest = pages.rows?.[0]?.id;
  const columns: Column<WebhookSecret>[] = [
    { key: 'id', title: m.id, width: 'minmax(310px, 1fr)', cell: ({ id }) => <code>{id}</code> },
    {
      key: 'state',
      title: m.state,
      width: '160px',
      cell: ({ id }) => (id === newest ? <Badge tone="good">{m.signs}</Badge> : <Badge>{m.replaced}</Badge>),
    },
    {
      key: 'created',
      title: t.developers.created,
      width: '210px',
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      key: 'delete',
      title: t.developers.action,
      width: '120px',
      cell: (row) => (
        <Button kind="quiet" onClick={() => setDeletes(row)} aria-label={m.deleteOf(row.id)}>
          {m.delete}
        </Button>
      ),
    },
  ];
  const made = create.data?.data;
  return (
    <>
      <p>{m.help}</p>
      <Buttons>
        <Button kind="primary" disabled={create.isPending} onClick={() => create.mutate({ inputs: [] })}>
          {m.new}
        </Button>
      </Buttons>
      {create.error === null ? null : <Failed error={create.error} />}
      <Listed
        pages={pages}
        label={m.title}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          <Empty title={m.none}>
            <p>{m.noneHelp}</p>
          </Empty>
        }
      />
      {made === undefined ? null : (
        <Secret title={m.made} secret={made.secret} what={m.secret} onClose={create.reset}>
          <p>{m.once}</p>
        </Secret>
      )}
      {deletes === undefined ? null : (
        <Delete secret={deletes} signs={deletes.id === newest} onClose={() => setDeletes(undefined)} />
      )}
    </>
  );
}

function Delete({ secret, signs, onClose }: { secret: WebhookSecret; signs: boolean; onClose: () => void }) {
  const remove = useChange('webhookSecrets.delete');
  return (
    <Confirm
      title={m.deleteTitle}
      verb={m.deleteVerb}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ inputs: [secret.id] }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>{signs ? m.deleteSigning : m.deleteReplaced}</p>
    </Confirm>
  );
}
