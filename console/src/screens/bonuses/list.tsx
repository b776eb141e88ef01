import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useMayEdit } from '../../api/place.tsx';
import { uuidOf } from '../../format/uuid.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Campaigns } from './campaign-list.tsx';
import { Grants } from './grant-list.tsx';
import { MakeGrant } from './make-grant.tsx';
import { Templates } from './template-list.tsx';

const route = getRouteApi('/bonuses');
const m = t.bonuses;
const TABS = ['templates', 'grants', 'campaigns'] as const;

/** Bonuses: their templates, what was granted, and the campaigns that grant to many. */
export function Bonuses() {
  const { tab, player, template } = route.useSearch();
  const navigate = useNavigate({ from: '/bonuses' });
  const may_edit = useMayEdit();
  const [grants, setGrants] = useState(false);
  const shown = TABS.find((one) => one === tab) ?? 'templates';
  const actions = {
    templates: (
      <Button
        kind="primary"
        onClick={() => void navigate({ to: '/bonuses/templates/$id', params: { id: 'new' } })}
      >
        {m.template.new}
      </Button>
    ),
    grants: (
      <Button kind="primary" onClick={() => setGrants(true)}>
        {m.grant.make.button}
      </Button>
    ),
    campaigns: (
      <Button
        kind="primary"
        onClick={() => void navigate({ to: '/bonuses/campaigns/$id', params: { id: 'new' } })}
      >
        {m.campaign.new}
      </Button>
    ),
  };
  return (
    <Page title={m.title} actions={may_edit ? actions[shown] : null}>
      <Tabs
        label={m.title}
        current={shown}
        tabs={TABS.map((key) => ({ key, title: m.tabs[key] }))}
        link={(key, props) => <Link {...props} to="/bonuses" search={{ tab: key }} />}
      >
        {shown === 'templates' ? <Templates /> : null}
        {shown === 'grants' ? <Grants /> : null}
        {shown === 'campaigns' ? <Campaigns /> : null}
      </Tabs>
      {grants ? (
        <MakeGrant player={uuidOf(player)} template={uuidOf(template)} onClose={() => setGrants(false)} />
      ) : null}
    </Page>
  );
}
