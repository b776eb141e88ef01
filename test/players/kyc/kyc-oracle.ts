/** What somebody said about a player's KYC. */
export interface KycStatement {
  kind: string;
  at_ms: number;
  level: number | null;
  expires_at_ms: number | null;
}

/** What the rules of the specification come to, written down without the code: from worst to best at one time. */
const WORST_FIRST = ['revoked', 'rejected', 'expired', 'lapsed', 'level_upgraded', 'approved', 'submitted'];

/** What it comes to. */
export interface Expected {
  status: string;
  level: number;
  requested_level: number | null;
  expires_at_ms: number | null;
}

/** A naive reading: looks at each moment in turn, and at each moment at the worst statement last. */
export function expectedOf(decisions: readonly KycStatement[]): Expected {
  const now: Expected = { status: 'none', level: 0, requested_level: null, expires_at_ms: null };
  const moments = [...new Set(decisions.map(({ at_ms }) => at_ms))].sort((a, b) => a - b);
  for (const moment of moments) {
    for (const kind of [...WORST_FIRST].reverse()) {
      const said = decisions.filter((one) => one.at_ms === moment && one.kind === kind);
      // The lower level and the earlier end are worse; an end that was not said is the best.
      said.sort(
        (a, b) => (b.level ?? -1) - (a.level ?? -1) || (b.expires_at_ms ?? 1e15) - (a.expires_at_ms ?? 1e15),
      );
      for (const one of said) say(now, one);
    }
  }
  return now;
}

function say(now: Expected, { kind, level, expires_at_ms, at_ms }: KycStatement): void {
  const is_approved = now.status === 'approved';
  switch (kind) {
    case 'submitted': {
      const asked = level ?? now.level + 1;
      if (is_approved) now.requested_level = asked > now.level ? asked : null;
      else Object.assign(now, { status: 'pending', requested_level: asked });
      break;
    }
    case 'approved':
      Object.assign(now, { status: 'approved', requested_level: null, expires_at_ms });
      if (level !== null) now.level = level;
      break;
    case 'level_upgraded':
      if (level !== null && level > now.level) now.level = level;
      if (expires_at_ms !== null) now.expires_at_ms = expires_at_ms;
      if (is_approved && now.requested_level !== null && now.requested_level <= now.level)
        now.requested_level = null;
      break;
    case 'rejected':
      now.requested_level = null;
      if (is_approved && level !== null && level > now.level) break;
      Object.assign(now, { status: 'rejected', expires_at_ms: null });
      break;
    case 'lapsed':
      if (!is_approved || now.expires_at_ms === null || now.expires_at_ms > at_ms) break;
      Object.assign(now, { status: 'expired', requested_level: null, expires_at_ms: null });
      break;
    default:
      Object.assign(now, { status: kind, requested_level: null, expires_at_ms: null });
  }
}
