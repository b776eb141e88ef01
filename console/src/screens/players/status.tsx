import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';

const TONES: Readonly<Record<string, Tone>> = {
  active: 'good',
  self_excluded: 'shield',
  banned: 'bad',
  conflict: 'warn',
  deleted: 'neutral',
};

/** The status of a player. */
export function Status({ status }: { status: string }) {
  return <Badge tone={TONES[status] ?? 'neutral'}>{t.players.statuses[status] ?? status}</Badge>;
}

/** The KYC status of a player in words. */
export function kycWords(kyc_status: string): string {
  return t.players.kycStatuses[kyc_status] ?? kyc_status;
}
