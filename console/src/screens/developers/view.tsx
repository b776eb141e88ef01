import { getRouteApi, Link } from '@tanstack/react-router';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { t } from '../../messages/t.ts';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Adapters } from './adapters.tsx';
import { Catalogue } from './catalogue.tsx';
import { Deliveries } from './deliveries.tsx';
import { Keys } from './keys.tsx';
import { Reference } from './reference.tsx';
import { SigningSecrets } from './signing-secrets.tsx';
import { Subscriptions } from './subscriptions.tsx';
import { Snippets } from './snippets.tsx';

const route = getRouteApi('/developers');
const m = t.developers;
const OPEN = { snippets: Snippets, events: Catalogue, reference: Reference } as const;
const FOR_ADMINS = {
  keys: Keys,
  adapters: Adapters,
  subscriptions: Subscriptions,
  webhooks: Deliveries,
  signing: SigningSecrets,
} as const;

/** What developers need: keys, snippets, the catalogue of events, the reference of the API, adapters to casino platforms, subscriptions to events, the webhooks' ledger, and the secrets that sign them. */
export function Developers() {
  const { tab } = route.useSearch();
  const is_admin = roleAllows(usePlace().role, 'admin');
  const contents = is_admin
    ? {
        keys: Keys,
        ...OPEN,
        adapters: Adapters,
        subscriptions: Subscriptions,
        webhooks: Deliveries,
        signing: SigningSecrets,
      }
    : { ...OPEN };
  const names = Object.keys(contents) as (keyof typeof m.tabs)[];
  const shown = names.find((one) => one === tab) ?? names[0] ?? 'snippets';
  const Content = { ...OPEN, ...FOR_ADMINS }[shown];
  return (
    <Page title={m.title}>
      <Tabs
        label={m.title}
        current={shown}
        tabs={names.map((key) => ({ key, title: m.tabs[key] }))}
        link={(key, props) => (
          <Link {...props} to="/developers" search={(before) => ({ project: before.project, tab: key })} />
        )}
      >
        <Content />
      </Tabs>
    </Page>
  );
}
