import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ApiError, Invitations as Answer } from '@player-engagement/client/admin';
import { client } from '../api/client.ts';
import { t } from '../messages/t.ts';
import { Button } from '../ui/button.tsx';
import { Failed } from '../ui/states.tsx';
import css from './shell.module.css';

type Invitation = Answer['invitations'][number];

/** The operators that want the user as a member, one bar each; nothing when there is none. */
export function Invitations() {
  const found = useQuery<Answer, ApiError>({
    queryKey: ['invitations'],
    queryFn: ({ signal }) => client.invitations.get({ signal }),
    staleTime: 60_000,
  });
  return (
    <>
      {found.data?.invitations.map((one) => (
        <Bar key={one.tenant_id} invitation={one} />
      ))}
    </>
  );
}

function Bar({ invitation: { tenant_id, tenant_name, role } }: { invitation: Invitation }) {
  const queries = useQueryClient();
  const answer = useMutation<unknown, ApiError, boolean>({
    mutationFn: (accepts) =>
      accepts ? client.invitations.accept(tenant_id) : client.invitations.delete(tenant_id),
    onSuccess: () => queries.invalidateQueries(),
  });
  const m = t.invitations;
  return (
    <section className={css['invitation']} aria-label={m.title(tenant_name)}>
      <p>{m.says(tenant_name, t.settings.roles[role])}</p>
      {answer.error === null ? null : <Failed error={answer.error} />}
      <Button kind="primary" disabled={answer.isPending} onClick={() => answer.mutate(true)}>
        {m.accept}
      </Button>
      <Button disabled={answer.isPending} onClick={() => answer.mutate(false)}>
        {m.decline}
      </Button>
    </section>
  );
}
