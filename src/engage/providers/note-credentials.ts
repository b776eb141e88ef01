import type { Tx } from '../../platform/postgres/port.ts';
import type { SendOutcome } from './message.ts';
import { noteCredentials, type ProviderRow } from './queries.ts';

/**
 * Keeps in the provider's row whether it refuses its credentials, from the outcomes of messages that it was given with
 * them. Outcomes that change nothing of what the row says cost no statement.
 */
export async function noteOutcomes(
  sql: Tx,
  row: ProviderRow,
  outcomes: readonly SendOutcome[],
  now_ms: number,
): Promise<void> {
  const refusal = outcomes.find(isRefusal);
  if (refusal !== undefined) {
    if (row.credentials_refused !== null) return;
    const { code = null, text: message = null } = refusal.fault ?? {};
    await noteCredentials(sql, row, { code, message, at: new Date(now_ms).toISOString() });
  } else if (row.credentials_refused !== null && outcomes.some(({ kind }) => kind === 'sent')) {
    await noteCredentials(sql, row, null);
  }
}

function isRefusal(outcome: SendOutcome): outcome is Extract<SendOutcome, { kind: 'retry' }> {
  return outcome.kind === 'retry' && outcome.is_of_credentials === true;
}
