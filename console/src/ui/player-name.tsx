import { useNameOfPlayer } from '../api/player-names.ts';
import { nameWith } from '../format/mask.ts';
import { t } from '../messages/t.ts';
import { Icon } from './icon.tsx';

/** Statuses of players who must not be reached: their names have the mark of protection. */
const PROTECTED = new Set(['self_excluded', 'banned']);

/**
 * Who a player is, in a row: the operator's own id, else the masked email and the end of the id, which also stands until the
 * name is known. Those who are excluded or banned are marked.
 */
export function PlayerName({ id, external_id = null }: { id: string; external_id?: string | null }) {
  const found = useNameOfPlayer(id);
  const status = found?.status;
  return (
    <span title={id}>
      {status !== undefined && PROTECTED.has(status) ? (
        <>
          <Icon name="shield" /> <span className="heard">{t.players.statuses[status]} </span>
        </>
      ) : null}
      <bdi>
        {nameWith({ external_id: found?.external_id ?? external_id, masked: found?.masked_email, id })}
      </bdi>
    </span>
  );
}
