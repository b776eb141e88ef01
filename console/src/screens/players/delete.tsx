import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Confirm } from '../../ui/confirm.tsx';
import type { PlayerRecord } from './queries.ts';

const m = t.players.delete;

/** Asks before a player is deleted, which nothing takes back. Repeating it changes nothing, so it needs no key. */
export function DeletePlayer({ player, onClose }: { player: PlayerRecord; onClose: () => void }) {
  const remove = useChange('players.delete');
  // The page asks for the player anew all the time; the name of the dialog stays.
  const [name] = useState(player.external_id ?? player.id);
  return (
    <Confirm
      title={m.title(name)}
      verb={m.verb}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ inputs: [player.id] }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>{m.what}</p>
      <p>{m.stays}</p>
    </Confirm>
  );
}
