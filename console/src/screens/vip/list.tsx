import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useMayEdit } from '../../api/place.tsx';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Ladder } from './ladder.tsx';
import { Moves } from './moves.tsx';

const route = getRouteApi('/vip');
const m = t.vip;
const TABS = ['ladder', 'moves'] as const;

/** VIP tiers, and who moved between them. */
export function Vip() {
  const { tab } = route.useSearch();
  const navigate = useNavigate({ from: '/vip' });
  const may_edit = useMayEdit();
  const shown = TABS.find((one) => one === tab) ?? 'ladder';
  return (
    <Page
      title={m.title}
      actions={
        may_edit && shown === 'ladder' ? (
          <Button kind="primary" onClick={() => void navigate({ to: '/vip/$id', params: { id: 'new' } })}>
            {m.new}
          </Button>
        ) : null
      }
    >
      <Tabs
        label={m.title}
        current={shown}
        tabs={TABS.map((key) => ({ key, title: m.tabs[key] }))}
        link={(key, props) => <Link {...props} to="/vip" search={{ tab: key }} />}
      >
        {shown === 'ladder' ? <Ladder /> : <Moves />}
      </Tabs>
    </Page>
  );
}
