import { useState } from 'react';
import { newActionKey, useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Answered } from '../../ui/states.tsx';
import { useAudience, type CampaignRecord } from './queries.ts';

const m = t.campaigns;

interface DialogProps {
  campaign: CampaignRecord;
  onClose: () => void;
  onDone: () => void;
}

/** Asks before the campaign is sent. The key is made when the dialog opens, so that it is sent once. */
export function Send({ campaign, onClose, onDone }: DialogProps) {
  const [key] = useState(newActionKey);
  const send = useChange('campaigns.send');
  const asked = useAudience(campaign, false);
  const is_triggered = campaign.type === 'triggered';
  const count = asked.data?.data.sendable;
  return (
    <Confirm
      title={m.send.title(campaign.name.slice(0, 100))}
      verb={is_triggered ? m.send.verbTriggered : m.send.verb(count ?? 0)}
      count={count}
      busy={send.isPending}
      ready={count !== undefined}
      error={send.error}
      onConfirm={() => send.mutate({ inputs: [campaign.id], idempotency_key: key }, { onSuccess: onDone })}
      onClose={onClose}
    >
      <Answered asked={asked} what={m.audience.title}>
        {({ data: { sendable, exact } }) => (
          <>
            <p>{is_triggered ? m.send.triggered : m.send.text(sendable)}</p>
            {exact ? null : <p>{m.send.approximately}</p>}
          </>
        )}
      </Answered>
    </Confirm>
  );
}

/** Asks before the campaign is cancelled. */
export function Cancel({ campaign, onClose, onDone }: DialogProps) {
  const cancel = useChange('campaigns.cancel');
  return (
    <Confirm
      title={m.cancel.title(campaign.name.slice(0, 100))}
      verb={m.cancel.button}
      busy={cancel.isPending}
      error={cancel.error}
      onConfirm={() => cancel.mutate({ inputs: [campaign.id] }, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{m.cancel.text}</p>
    </Confirm>
  );
}

/** Asks before a campaign that was not sent is deleted. */
export function Remove({ campaign, onClose, onDone }: DialogProps) {
  const remove = useChange('campaigns.delete');
  return (
    <Confirm
      title={m.remove.title(campaign.name.slice(0, 100))}
      verb={m.remove.verb}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ inputs: [campaign.id] }, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{m.remove.text}</p>
    </Confirm>
  );
}
