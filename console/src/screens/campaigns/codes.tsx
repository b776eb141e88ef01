import { wordsOf } from '../../format/code-words.ts';
import { formatInt } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Table } from '../../ui/table.tsx';

const m = t.campaigns.audience;
/** Codes of players who are protected: what kept messages from them must be seen at once. */
const PROTECTED = new Set(['SKIPPED_SELF_EXCLUDED', 'SKIPPED_COOLDOWN', 'SKIPPED_AT_RISK']);

/** Why players get nothing, in plain words, the most frequent reason first. */
export function Codes({ label, by_code }: { label: string; by_code: Readonly<Record<string, number>> }) {
  const rows = Object.entries(by_code).sort(([, a], [, b]) => b - a);
  return (
    <Table
      label={label}
      head={[m.why, m.count, m.code]}
      rows={rows.map(([code, count]) => ({
        key: code,
        cells: [
          PROTECTED.has(code) ? (
            <Badge tone="shield">{t.codes[code]}</Badge>
          ) : (
            <span key="why">{wordsOf(code)}</span>
          ),
          formatInt(count),
          <code key="code">{code}</code>,
        ],
      }))}
    />
  );
}
