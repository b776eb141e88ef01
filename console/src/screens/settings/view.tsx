import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { usePlace } from '../../api/place.tsx';
import { roleAllows, type Role } from '../../api/session.ts';
import { t } from '../../messages/t.ts';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Config } from './config.tsx';
import { Currencies } from './currencies.tsx';
import { Members } from './members.tsx';
import { Providers } from './providers.tsx';
import { Sessions } from './sessions.tsx';
import { Suppressions } from './suppressions.tsx';

const route = getRouteApi('/settings');
const m = t.settings;
const TABS = [
  { key: 'config', needed: 'admin', content: Config },
  { key: 'currencies', needed: 'viewer', content: Currencies },
  { key: 'providers', needed: 'viewer', content: Providers },
  { key: 'suppressions', needed: 'editor', content: Suppressions },
  { key: 'members', needed: 'admin', content: Members },
  { key: 'sessions', needed: 'viewer', content: Sessions },
] as const satisfies readonly { key: string; needed: Role; content: () => ReactNode }[];

/** The settings of the operator: those parts that the role may read. */
export function Settings() {
  const { tab } = route.useSearch();
  const { role } = usePlace();
  const tabs = TABS.filter(({ needed }) => roleAllows(role, needed));
  const shown = tabs.find(({ key }) => key === tab) ?? tabs[0] ?? TABS[1];
  const Content = shown.content;
  return (
    <Page title={m.title}>
      <Tabs
        label={m.title}
        current={shown.key}
        tabs={tabs.map(({ key }) => ({ key, title: m.tabs[key] }))}
        link={(key, props) => (
          <Link {...props} to="/settings" search={(before) => ({ project: before.project, tab: key })} />
        )}
      >
        <Content />
      </Tabs>
    </Page>
  );
}
