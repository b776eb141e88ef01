import { keptProtections } from '../../../protection/exclusions/kept.ts';
import {
  spellAddresses,
  type Address,
  type Protection,
} from '../../../protection/exclusions/kept-queries.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { Channel } from '../../../tenants/config/channels.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { SkipCode } from '../send-row.ts';
import { selectIsHeld } from './queries.ts';

const KINDS = {
  email: 'email',
  sms: 'phone',
  push: 'push_token',
} as const satisfies Record<Channel, Address['kind']>;

const CODES: Readonly<Record<Protection['protection'], SkipCode>> = {
  self_exclusion: 'SKIPPED_SELF_EXCLUDED',
  ban: 'SKIPPED_BANNED',
  cooldown: 'SKIPPED_COOLDOWN',
  suppression: 'SKIPPED_SUPPRESSED',
};

/**
 * The codes why nobody may be written to at the address of an erased person. None where a live player has the address: what
 * is kept was given to that player, so what an operator has lifted there stays lifted.
 */
export async function codesOfErased(
  tx: Tx,
  erasure_key: Buffer,
  project: ProjectRef,
  to: { channel: Channel; address: string },
  now: Date,
): Promise<SkipCode[]> {
  const spelled = await spellAddresses(tx, [{ kind: KINDS[to.channel], text: to.address }]);
  const kept = await keptProtections(tx, erasure_key, project, spelled);
  if (kept.length === 0) return [];
  const [held] = await selectIsHeld(tx, project.tenant_id, to);
  if (held?.is_held === true) return [];
  return kept.flatMap(({ protection, until }) => (until === null || until > now ? [CODES[protection]] : []));
}
