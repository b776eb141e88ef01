import { LAST_SEEN_SQL } from '../../analytics/mirrored-columns.ts';
import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { keyOfText } from '../../protection/exclusions/address-queries.ts';
import type { MatchedId, SoughtIds } from './search.ts';

/** A player that was found, and by which of its ids. */
export interface FoundPlayer {
  player_id: string;
  external_id: string | null;
  email: string | null;
  phone: string | null;
  telegram_id: string | null;
  status: string;
  current_tier_code: string | null;
  last_seen_at: Date;
  deleted_at: Date | null;
  matched_by: MatchedId;
  is_exact: boolean;
}

/** Behind a prefix: above every text that begins with it, in the order of code points. */
const BEYOND = '\u{10FFFF}';

/**
 * At most `limit` players with one of the sought ids, each once: those with an equal id first, in the order of
 * `MATCHED_IDS`. Every part reads an index, which begins with the id, and at most `limit` rows of the project. Of an email
 * address or a telephone number that is the key by which the gate knows a person in all spellings. A prefix is a range of the index: with a pattern instead, row-level security would be checked for every player first. In a database
 * whose collation is not C a range has the order of a language, and the prefix may lie outside of it in rare characters.
 */
export function searchPlayers(
  tx: Tx,
  project: ProjectRef,
  sought: SoughtIds,
  limit: number,
): PendingQuery<FoundPlayer[]> {
  const { tenant_id, project_id } = project;
  const own = tx`o.tenant_id = ${tenant_id} and o.project_id = ${project_id}`;
  const ofPlayers = tx`from players o where ${own} and o.deleted_at is null`;
  const part = (place: number, matched_by: MatchedId, source: PendingQuery<Row[]>) => tx`
    union all (select ${place}::integer, ${matched_by}::text, false, o.player_id ${source} limit ${limit})`;
  const prefix = (column: string, text: PendingQuery<Row[]>) => tx`o.${tx(column)} >= ${text}
    and o.${tx(column)} < ${text} || ${BEYOND} and starts_with(o.${tx(column)}, ${text}) order by o.${tx(column)}`;
  const { exact, prefixes } = sought;
  const address = (place: number, matched_by: 'email' | 'phone', channel: Channel) => {
    const key = (text: string) => keyOfText(tx, channel, text);
    const column = `${channel}_key`;
    return [
      part(place, matched_by, tx`${ofPlayers} and o.${tx(column)} = ${key(exact.text)}`),
      ...(prefixes[matched_by] ?? []).map((text) =>
        part(PREFIXES + place, matched_by, tx`${ofPlayers} and ${prefix(column, key(text))}`),
      ),
    ];
  };
  const prefixed = (place: number, column: 'external_id' | 'telegram_id') =>
    (prefixes[column] ?? []).map((text) =>
      part(PREFIXES + place, column, tx`${ofPlayers} and ${prefix(column, tx`${text}::text`)}`),
    );
  const identities = tx`from player_identities o where ${own}`;
  const parts = [
    ...prefixed(1, 'external_id'),
    ...address(2, 'email', 'email'),
    ...address(3, 'phone', 'sms'),
    ...exact.telegram_id.map((text) => part(4, 'telegram_id', tx`${ofPlayers} and o.telegram_id = ${text}`)),
    ...prefixed(4, 'telegram_id'),
    part(5, 'anonymous_id', tx`${identities} and o.anonymous_id = ${exact.text}`),
    ...(prefixes.anonymous_id ?? []).map((text) =>
      part(PREFIXES + 5, 'anonymous_id', tx`${identities} and ${prefix('anonymous_id', tx`${text}::text`)}`),
    ),
  ];
  return tx<FoundPlayer[]>`
    with named (place, matched_by, shows_deleted, player_id) as materialized (
      select 0, 'player_id', true, coalesce(
        (select m.into_player_id from player_merges m
          where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.player_id = ${exact.player_id}::uuid),
        ${exact.player_id}::uuid)
      union all
      select 1, 'external_id', true, o.player_id from players o where ${own} and o.external_id = ${exact.text}
      ${parts}
    ), best as materialized (
      select distinct on (player_id) place, matched_by, shows_deleted, player_id from named
      where player_id is not null order by player_id, place
    )
    select p.player_id, p.external_id, p.email, p.phone, p.telegram_id, p.status, p.current_tier_code, t.last_seen_at,
      p.deleted_at, b.matched_by, b.place < ${PREFIXES} as is_exact
    from best b
    cross join lateral (
      select * from players p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = b.player_id offset 0) p
    cross join lateral (
      select ${tx.unsafe(LAST_SEEN_SQL)} as last_seen_at from player_totals t
      where t.tenant_id = ${tenant_id} and t.project_id = ${project_id} and t.player_id = b.player_id offset 0) t
    where b.shows_deleted or p.deleted_at is null
    order by b.place, t.last_seen_at desc, p.player_id
    limit ${limit}`;
}

/** Places from this one on are of ids that only begin with the text. */
const PREFIXES = 10;
