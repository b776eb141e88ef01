import { getRouteApi, Link } from '@tanstack/react-router';
import { t } from '../../messages/t.ts';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { AuditLog } from './audit.tsx';
import { Erasures } from './erasures.tsx';
import { Blocked, Exclusions } from './exclusions.tsx';
import { Licence } from './licence.tsx';
import { PeriodProofs } from './period.tsx';
import { Conflicts, KycAndLimits } from './review.tsx';

const route = getRouteApi('/compliance');
const m = t.compliance;
const TABS = {
  exclusions: Exclusions,
  period: PeriodProofs,
  blocked: Blocked,
  kyc: KycAndLimits,
  conflicts: Conflicts,
  licence: Licence,
  erasures: Erasures,
  audit: AuditLog,
} as const;
type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as Tab[];

/** What a compliance officer looks at. */
export function Compliance() {
  const { tab } = route.useSearch();
  const shown = NAMES.find((one) => one === tab) ?? 'exclusions';
  const Content = TABS[shown];
  return (
    <Page title={m.title}>
      <Tabs
        label={m.title}
        current={shown}
        tabs={NAMES.map((key) => ({ key, title: m.tabs[key] }))}
        // Each list has filters of its own.
        link={(key, props) => (
          <Link {...props} to="/compliance" search={({ project }) => ({ project, tab: key })} />
        )}
      >
        <Content />
      </Tabs>
    </Page>
  );
}
