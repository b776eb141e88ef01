import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import type { ProviderRecord } from './queries.ts';

const m = t.settings;

/** Whether a provider sends: one that refuses its credentials does not, although it is active. */
export function ProviderState({ of: { status, credentials_refused } }: { of: ProviderRecord }) {
  if (status !== 'active') return <Badge tone="warn">{m.paused}</Badge>;
  return credentials_refused === null ? (
    <Badge tone="good">{m.active}</Badge>
  ) : (
    <Badge tone="bad">{m.credentialsRefused}</Badge>
  );
}
