import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { usePlace } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { Choose } from '../../ui/choose.tsx';
import { useSessions, type SessionRecord } from './queries.ts';

const route = getRouteApi('/settings');
const m = t.settings;

/** Who is signed in to the console: the user, for admins all members. */
export function Sessions() {
  const { of } = route.useSearch();
  const navigate = useNavigate({ from: '/settings' });
  const is_admin = roleAllows(usePlace().role, 'admin');
  const shown = is_admin && of === 'members' ? 'members' : 'own';
  const [ending, setEnding] = useState<SessionRecord>();
  const columns: Column<SessionRecord>[] = [
    {
      key: 'user',
      title: m.user,
      width: 'minmax(220px, 2fr)',
      cell: ({ display_name, user_id, is_current }) => (
        <>
          <bdi>{display_name ?? user_id}</bdi> {is_current ? <Badge tone="accent">{m.thisOne}</Badge> : null}
        </>
      ),
    },
    { key: 'began', title: m.began, width: '210px', cell: (row) => <Time at={row.created_at} ago /> },
    { key: 'seen', title: m.lastSeen, width: '210px', cell: (row) => <Time at={row.last_seen_at} ago /> },
    { key: 'expires', title: m.expires, width: '220px', cell: (row) => <Time at={row.expires_at} /> },
    {
      key: 'act',
      title: m.action,
      width: '100px',
      cell: (row) => (
        <Button kind="quiet" onClick={() => setEnding(row)}>
          {m.end}
        </Button>
      ),
    },
  ];
  return (
    <>
      {is_admin ? (
        <search>
          <Choose
            label={m.sessionsOf}
            options={[
              { value: 'own', label: m.mine },
              { value: 'members', label: m.ofMembers },
            ]}
            value={shown}
            onChange={(value) => void navigate({ search: (before) => ({ ...before, of: value }) })}
          />
        </search>
      ) : null}
      <Listed
        pages={useSessions(shown)}
        label={m.tabs.sessions}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title={m.noSessions} />}
      />
      {ending === undefined ? null : <End of={ending} onClose={() => setEnding(undefined)} />}
    </>
  );
}

function End({ of, onClose }: { of: SessionRecord; onClose: () => void }) {
  const end = useChange('consoleSessions.delete');
  return (
    <Confirm
      title={m.endTitle((of.display_name ?? of.user_id).slice(0, 100))}
      verb={m.endVerb}
      busy={end.isPending}
      error={end.error}
      onClose={onClose}
      onConfirm={() => end.mutate({ inputs: [of.id] }, { onSuccess: onClose })}
    >
      <p>{of.is_current ? m.endOwnText : m.endText}</p>
    </Confirm>
  );
}
