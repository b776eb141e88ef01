import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router';
import { importPart } from './api/online.ts';
import { objects, texts } from './format/search-params.ts';
import { t } from './messages/t.ts';
import { Crashed } from './shell/crashed.tsx';
import { Shell } from './shell/shell.tsx';
import { Empty } from './ui/states.tsx';

/** Search parameters of every page. */
interface RootSearch {
  /** The project that the page is about; absent: the first of the session. */
  project?: string | undefined;
}

const root = createRootRouteWithContext<{ client: QueryClient }>()({
  component: Shell,
  errorComponent: Crashed,
  notFoundComponent: () => <Empty title={t.states.noScreen} />,
  validateSearch: (search: Record<string, unknown>): RootSearch => {
    const { project } = search;
    return typeof project === 'string' ? { project } : {};
  },
  search: { middlewares: [retainSearchParams(['project'])] },
});

/** A screen that is loaded when it is opened. */
const screen: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => importPart(load), name);

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/overview', replace: true });
  },
});

const overview = createRoute({
  getParentRoute: () => root,
  path: '/overview',
  validateSearch: texts('range'),
  component: screen(() => import('./screens/overview/view.tsx'), 'Overview'),
});

const events = createRoute({
  getParentRoute: () => root,
  path: '/events',
  validateSearch: texts('tab', 'event', 'player', 'from', 'to', 'trace'),
  component: screen(() => import('./screens/events/view.tsx'), 'Events'),
});

const insights = createRoute({
  getParentRoute: () => root,
  path: '/insights',
  validateSearch: (search: Record<string, unknown>) => ({
    ...texts('shown', 'board', 'saved')(search),
    ...objects('q', 'cell')(search),
  }),
  component: screen(() => import('./screens/insights/view.tsx'), 'Insights'),
});

const holdout = createRoute({
  getParentRoute: () => root,
  path: '/insights/holdout',
  validateSearch: texts('round'),
  component: screen(() => import('./screens/insights/holdout.tsx'), 'Holdout'),
});

const alerts = createRoute({
  getParentRoute: () => root,
  path: '/insights/alerts',
  validateSearch: texts('alert', 'tab'),
  component: screen(() => import('./screens/insights/alerts.tsx'), 'Alerts'),
});

const reports = createRoute({
  getParentRoute: () => root,
  path: '/insights/reports',
  validateSearch: texts('report', 'tab'),
  component: screen(() => import('./screens/insights/reports.tsx'), 'Reports'),
});

const models = createRoute({
  getParentRoute: () => root,
  path: '/insights/models',
  component: screen(() => import('./screens/insights/models.tsx'), 'Models'),
});

const players = createRoute({
  getParentRoute: () => root,
  path: '/players',
  validateSearch: texts('q', 'status'),
  component: screen(() => import('./screens/players/list.tsx'), 'Players'),
});

const player = createRoute({
  getParentRoute: () => root,
  path: '/players/$id',
  validateSearch: texts('tab'),
  component: screen(() => import('./screens/players/view.tsx'), 'Player'),
});

const segments = createRoute({
  getParentRoute: () => root,
  path: '/segments',
  validateSearch: texts('q'),
  component: screen(() => import('./screens/segments/list.tsx'), 'Segments'),
});

const newSegment = createRoute({
  getParentRoute: () => root,
  path: '/segments/new',
  component: screen(() => import('./screens/segments/edit.tsx'), 'NewSegment'),
});

const segment = createRoute({
  getParentRoute: () => root,
  path: '/segments/$id',
  validateSearch: texts('tab', 'player', 'as_of', 'days'),
  component: screen(() => import('./screens/segments/view.tsx'), 'Segment'),
});

const editSegment = createRoute({
  getParentRoute: () => root,
  path: '/segments/$id/edit',
  component: screen(() => import('./screens/segments/edit.tsx'), 'EditSegment'),
});

const campaigns = createRoute({
  getParentRoute: () => root,
  path: '/campaigns',
  validateSearch: texts('status', 'view', 'month'),
  component: screen(() => import('./screens/campaigns/list.tsx'), 'Campaigns'),
});

const campaign = createRoute({
  getParentRoute: () => root,
  path: '/campaigns/$id',
  validateSearch: texts('step', 'tab', 'metric', 'code'),
  component: screen(() => import('./screens/campaigns/view.tsx'), 'Campaign'),
});

const journeys = createRoute({
  getParentRoute: () => root,
  path: '/journeys',
  validateSearch: texts('status'),
  component: screen(() => import('./screens/journeys/list.tsx'), 'Journeys'),
});

const journey = createRoute({
  getParentRoute: () => root,
  path: '/journeys/$id',
  validateSearch: texts('tab', 'view', 'status', 'node', 'player', 'run', 'from', 'to'),
  component: screen(() => import('./screens/journeys/view.tsx'), 'Journey'),
});

const newJourney = createRoute({
  getParentRoute: () => root,
  path: '/journeys/new',
  component: screen(() => import('./screens/journeys/edit.tsx'), 'NewJourney'),
});

const editJourney = createRoute({
  getParentRoute: () => root,
  path: '/journeys/$id/edit',
  component: screen(() => import('./screens/journeys/edit.tsx'), 'EditJourney'),
});

const templates = createRoute({
  getParentRoute: () => root,
  path: '/templates',
  validateSearch: texts('channel', 'status'),
  component: screen(() => import('./screens/templates/list.tsx'), 'Templates'),
});

const template = createRoute({
  getParentRoute: () => root,
  path: '/templates/$id',
  validateSearch: texts('tab', 'player', 'width'),
  component: screen(() => import('./screens/templates/view.tsx'), 'Template'),
});

const bonuses = createRoute({
  getParentRoute: () => root,
  path: '/bonuses',
  validateSearch: texts('tab', 'type', 'status', 'player', 'template', 'campaign', 'review'),
  component: screen(() => import('./screens/bonuses/list.tsx'), 'Bonuses'),
});

const bonusTemplate = createRoute({
  getParentRoute: () => root,
  path: '/bonuses/templates/$id',
  validateSearch: texts('tab'),
  component: screen(() => import('./screens/bonuses/template-view.tsx'), 'Template'),
});

const grant = createRoute({
  getParentRoute: () => root,
  path: '/bonuses/grants/$id',
  component: screen(() => import('./screens/bonuses/grant-view.tsx'), 'GrantPage'),
});

const bonusCampaign = createRoute({
  getParentRoute: () => root,
  path: '/bonuses/campaigns/$id',
  validateSearch: texts('tab'),
  component: screen(() => import('./screens/bonuses/campaign-view.tsx'), 'BonusCampaignPage'),
});

const vip = createRoute({
  getParentRoute: () => root,
  path: '/vip',
  validateSearch: texts('tab', 'from', 'to'),
  component: screen(() => import('./screens/vip/list.tsx'), 'Vip'),
});

const tier = createRoute({
  getParentRoute: () => root,
  path: '/vip/$id',
  validateSearch: texts('tab'),
  component: screen(() => import('./screens/vip/view.tsx'), 'TierPage'),
});

const compliance = createRoute({
  getParentRoute: () => root,
  path: '/compliance',
  validateSearch: texts('tab', 'state', 'kind', 'player', 'code', 'user', 'action', 'resource', 'from', 'to'),
  component: screen(() => import('./screens/compliance/view.tsx'), 'Compliance'),
});

const complianceProof = createRoute({
  getParentRoute: () => root,
  path: '/compliance/$id',
  component: screen(() => import('./screens/compliance/proof.tsx'), 'ProofPage'),
});

const developers = createRoute({
  getParentRoute: () => root,
  path: '/developers',
  validateSearch: texts('tab', 'q', 'op', 'status', 'adapter', 'subscription'),
  component: screen(() => import('./screens/developers/view.tsx'), 'Developers'),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  validateSearch: texts('tab', 'currency', 'provider', 'channel', 'reason', 'of'),
  component: screen(() => import('./screens/settings/view.tsx'), 'Settings'),
});

const system = createRoute({
  getParentRoute: () => root,
  path: '/system',
  component: screen(() => import('./screens/system/view.tsx'), 'System'),
});

/** The router of the console; each screen is loaded when it is opened. */
export function makeRouter(client: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([
      home,
      overview,
      insights,
      alerts,
      reports,
      holdout,
      models,
      events,
      players,
      player,
      segments,
      newSegment,
      segment,
      editSegment,
      campaigns,
      campaign,
      journeys,
      newJourney,
      journey,
      editJourney,
      templates,
      template,
      bonuses,
      bonusTemplate,
      grant,
      bonusCampaign,
      vip,
      tier,
      compliance,
      complianceProof,
      developers,
      settings,
      system,
    ]),
    basepath: '/console',
    context: { client },
    defaultPreload: 'intent',
    defaultErrorComponent: Crashed,
    scrollRestoration: true,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
