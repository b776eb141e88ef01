import { wordIn } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Answered } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { useLicence } from './queries.ts';

const m = t.compliance.licence;
const TONES: Readonly<Record<'enforce' | 'warn' | 'info', Tone>> = {
  enforce: 'shield',
  warn: 'warn',
  info: 'neutral',
};

/** The licence, and the rules for bonuses and messages that hold now. */
export function Licence() {
  return (
    <Answered asked={useLicence()} what={m.loading}>
      {({ data }) => (
        <>
          <Facts
            label={m.jurisdiction}
            facts={[
              [m.jurisdiction, data.license_jurisdiction ?? m.notConfigured],
              [m.kycModel, wordIn(t.names.kycModels, data.kyc_model)],
              [m.features, data.rg_features.map((one) => wordIn(t.names.rgFeatures, one)).join(', ') || '—'],
            ]}
          />
          <h2>{m.rules}</h2>
          <Table
            label={m.rules}
            head={[m.rule, m.severity, m.where, m.evidence, m.source]}
            rows={data.rules.map(({ id, severity, applies_to, summary, source, evidence }) => ({
              key: id,
              cells: [
                summary,
                <Badge key="severity" tone={TONES[severity]}>
                  {m.severities[severity]}
                </Badge>,
                applies_to.map((one) => wordIn(t.names.rulePoints, one)).join(', '),
                wordIn(t.names.evidence, evidence),
                source,
              ],
            }))}
          />
          <p>{m.disclaimer}</p>
        </>
      )}
    </Answered>
  );
}
