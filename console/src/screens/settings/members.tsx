import { useState } from 'react';
import { oneOf } from '../../api/choices.ts';
import { usePlace } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { ROLES, useSession, type Role } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/field.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { Choose } from '../../ui/choose.tsx';
import { useMembers, type MemberRecord } from './queries.ts';

const m = t.settings;

type Open = { act: 'add' } | { act: 'role' | 'remove'; member: MemberRecord };

/** The roles that the user may give: only owners make owners. */
function useRoles(): readonly Role[] {
  const { role } = usePlace();
  return role === 'owner' ? ROLES : ROLES.filter((one) => one !== 'owner');
}

/** The members of the operator and their roles; for admins. */
export function Members() {
  const [open, setOpen] = useState<Open>();
  const { user_id } = useSession();
  const roles = useRoles();
  const columns: Column<MemberRecord>[] = [
    {
      key: 'user',
      title: m.user,
      width: 'minmax(260px, 2fr)',
      cell: (row) => (
        <>
          <bdi>{row.user_id}</bdi> {row.user_id === user_id ? <Badge tone="accent">{m.you}</Badge> : null}
          {row.status === 'invited' ? <Badge>{m.invited}</Badge> : null}
        </>
      ),
    },
    { key: 'role', title: m.role, width: '120px', cell: (row) => m.roles[row.role] },
    { key: 'since', title: m.since, width: '210px', cell: (row) => <Time at={row.created_at} ago /> },
    {
      key: 'act',
      title: m.action,
      width: '220px',
      cell: (member) =>
        roles.includes(member.role) ? (
          <>
            <Button
              kind="quiet"
              aria-label={m.changeRoleOf(member.user_id)}
              onClick={() => setOpen({ act: 'role', member })}
            >
              {m.changeRole}
            </Button>
            <Button
              kind="quiet"
              aria-label={m.removeMemberOf(member.user_id)}
              onClick={() => setOpen({ act: 'remove', member })}
            >
              {m.remove}
            </Button>
          </>
        ) : null,
    },
  ];
  const close = () => setOpen(undefined);
  return (
    <>
      <search>
        <Button kind="primary" onClick={() => setOpen({ act: 'add' })}>
          {m.addMember}
        </Button>
      </search>
      <Listed
        pages={useMembers()}
        label={m.tabs.members}
        columns={columns}
        keyOf={(row) => row.user_id}
        empty={<Empty title={m.noMatch} />}
      />
      {open?.act === 'add' ? <Add onClose={close} /> : null}
      {open?.act === 'role' ? <ChangeRole of={open.member} onClose={close} /> : null}
      {open?.act === 'remove' ? <Remove of={open.member} onClose={close} /> : null}
    </>
  );
}

function RoleChoice({ value, onChange }: { value: Role; onChange: (role: Role) => void }) {
  return (
    <Choose
      label={m.role}
      options={useRoles().map((role) => ({ value: role, label: m.roles[role] }))}
      value={value}
      onChange={(role) => onChange(oneOf(ROLES, role) ?? value)}
    />
  );
}

function Add({ onClose }: { onClose: () => void }) {
  const [user_id, setUser] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const add = useChange('members.create');
  const body = { user_id: user_id.trim(), role };
  return (
    <ActDialog
      title={m.addMember}
      verb={m.addVerb(m.roles[role])}
      busy={add.isPending}
      ready={body.user_id !== ''}
      error={add.error}
      onAct={() => add.mutate({ inputs: [body] }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <Field label={m.user} hint={m.userHint}>
        {(control) => (
          <input
            {...control}
            maxLength={255}
            autoComplete="off"
            value={user_id}
            onChange={({ target }) => setUser(target.value)}
          />
        )}
      </Field>
      <RoleChoice value={role} onChange={setRole} />
    </ActDialog>
  );
}

function ChangeRole({ of: { user_id, role: before }, onClose }: { of: MemberRecord; onClose: () => void }) {
  const [role, setRole] = useState<Role>(before);
  const change = useChange('members.update');
  return (
    <ActDialog
      title={m.changeRoleTitle(user_id.slice(0, 100))}
      verb={m.changeRoleVerb(m.roles[before], m.roles[role])}
      busy={change.isPending}
      ready={role !== before}
      error={change.error}
      onAct={() => change.mutate({ inputs: [{ user_id, role }] }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <RoleChoice value={role} onChange={setRole} />
    </ActDialog>
  );
}

function Remove({ of: { user_id }, onClose }: { of: MemberRecord; onClose: () => void }) {
  const remove = useChange('members.delete');
  return (
    <Confirm
      title={m.removeMemberTitle(user_id.slice(0, 100))}
      verb={m.removeMemberVerb}
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate({ inputs: [{ user_id }] }, { onSuccess: onClose })}
    >
      <p>{m.removeMemberText}</p>
    </Confirm>
  );
}
