import { getRouteApi, Link } from '@tanstack/react-router';
import { useMayEdit } from '../../api/place.tsx';
import { t } from '../../messages/t.ts';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Live } from './live.tsx';
import { Rejected } from './rejected.tsx';
import { Search } from './search.tsx';
import { TestEvent } from './test-event.tsx';

const route = getRouteApi('/events');
const m = t.events;
const TABS = { live: Live, search: Search, rejected: Rejected } as const;
type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as Tab[];

/** Events: as they come, as a search, and those that were rejected. */
export function Events() {
  const { tab } = route.useSearch();
  const shown = NAMES.find((one) => one === tab) ?? 'live';
  const Content = TABS[shown];
  return (
    <Page title={m.title} actions={useMayEdit() ? <TestEvent /> : null}>
      <Tabs
        label={m.title}
        current={shown}
        tabs={NAMES.map((key) => ({ key, title: m.tabs[key] }))}
        link={(key, props) => <Link {...props} to="/events" search={(before) => ({ ...before, tab: key })} />}
      >
        <Content />
      </Tabs>
    </Page>
  );
}
