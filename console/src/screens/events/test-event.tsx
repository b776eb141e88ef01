import { useNavigate } from '@tanstack/react-router';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Failed } from '../../ui/states.tsx';

const m = t.events;

/** Sends one event of a made-up visitor, and shows its way through the service. */
export function TestEvent() {
  const navigate = useNavigate({ from: '/events' });
  const send = useChange('testEvents');
  const show = () =>
    send.mutate(
      { inputs: [] },
      {
        onSuccess: ({ data: { ingestion_id, index } }) =>
          void navigate({ search: (before) => ({ ...before, trace: `${ingestion_id}/${index}` }) }),
      },
    );
  return (
    <>
      <Button onClick={show} disabled={send.isPending} title={m.testHint}>
        {m.test}
      </Button>
      {send.error === null ? null : <Failed error={send.error} />}
    </>
  );
}
