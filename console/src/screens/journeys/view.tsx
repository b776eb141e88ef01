import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useMayEdit } from '../../api/place.tsx';
import { useRead } from '../../api/queries.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { AuditTab } from '../../ui/audit.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Effect } from '../../ui/effect.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Archive, Duplicate, Pause, Trigger } from './acts.tsx';
import { GraphTab } from './graph-tab.tsx';
import css from './journeys.module.css';
import { Activate, Issues, PublishDraft } from './publish.tsx';
import { useJourney, type JourneyRecord } from './queries.ts';
import { Runs } from './runs.tsx';
import { Simulate } from './simulate.tsx';
import { Status } from './status.tsx';
import { Versions } from './versions.tsx';

const route = getRouteApi('/journeys/$id');
const m = t.journeys;
const TABS = { graph: GraphTab, runs: Runs, effect: EffectOf, versions: Versions, audit: Audit };
type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as Tab[];
const REFRESH_MS = 10_000;

/** One journey: its graph with numbers, its runs, its versions, and what can be done with it. */
export function Journey() {
  const { id } = route.useParams();
  const { tab } = route.useSearch();
  const journey = useJourney(id, REFRESH_MS);
  const shown = NAMES.find((one) => one === tab) ?? 'graph';
  const Content = TABS[shown];
  const record = journey.data?.data;
  return (
    <Page
      title={record?.name ?? m.one}
      actions={record === undefined ? null : <Actions key={id} journey={record} />}
    >
      <Answered asked={journey} what={m.loadingOne}>
        {({ data }) => (
          <>
            <Summary journey={data} />
            <Tabs
              label={m.one}
              current={shown}
              tabs={NAMES.map((key) => ({ key, title: m.tabs[key] }))}
              link={(key, props) => (
                <Link
                  {...props}
                  to="/journeys/$id"
                  params={{ id }}
                  search={(before) => ({ ...before, tab: key, run: undefined })}
                />
              )}
            >
              <Content key={id} journey={data} />
            </Tabs>
          </>
        )}
      </Answered>
    </Page>
  );
}

function EffectOf({ journey: { id } }: { journey: JourneyRecord }) {
  return <Effect asked={useRead('journeys.uplift', [id])} />;
}

function Audit({ journey: { id } }: { journey: JourneyRecord }) {
  return <AuditTab type="journey" id={id} />;
}

function Summary({ journey }: { journey: JourneyRecord }) {
  const {
    id,
    version,
    draft_version,
    last_error,
    warnings = [],
    created_at,
    updated_at,
    deleted_at,
  } = journey;
  return (
    <>
      {last_error === null ? null : (
        <p role="alert" className={css['problem']}>
          {m.problem} {last_error}
        </p>
      )}
      {draft_version === null || version === null ? null : (
        <p className={css['note']}>{m.draftWaits(draft_version)}</p>
      )}
      {warnings.length === 0 || deleted_at !== null ? null : (
        <div className={css['warnings']} role="group" aria-label={m.warnings}>
          <Issues issues={warnings} />
        </div>
      )}
      <Facts
        label={m.one}
        facts={[
          [m.status, <Status key="status" journey={journey} />],
          [m.version, version === null ? m.neverActivated : String(version)],
          [m.created, <Time key="created" at={created_at} />],
          [m.changed, <Time key="changed" at={updated_at} />],
          [m.id, <Id key="id" value={id} what={m.id} />],
        ]}
      />
    </>
  );
}

const DIALOGS = {
  activate: Activate,
  pause: Pause,
  trigger: Trigger,
  simulate: Simulate,
  publish: PublishDraft,
  archive: Archive,
};
type Act = keyof typeof DIALOGS;

/** What the status and the role allow. */
function Actions({ journey }: { journey: JourneyRecord }) {
  const may_edit = useMayEdit();
  const [open, setOpen] = useState<Act>();
  if (journey.deleted_at !== null) return null;
  const Open = open === undefined ? undefined : DIALOGS[open];
  const simulate = <Button onClick={() => setOpen('simulate')}>{m.acts.simulate}</Button>;
  const dialog = Open === undefined ? null : <Open journey={journey} onClose={() => setOpen(undefined)} />;
  // A simulation changes nothing, so everybody may.
  if (!may_edit) {
    return (
      <>
        {simulate}
        {dialog}
      </>
    );
  }
  const { id, status, draft_version } = journey;
  const is_active = status === 'active';
  return (
    <>
      {is_active && draft_version !== null ? (
        <Button kind="primary" onClick={() => setOpen('publish')}>
          {m.acts.publish(draft_version)}
        </Button>
      ) : null}
      <Link to="/journeys/$id/edit" params={{ id }} className={css['action']}>
        {m.edit.link}
      </Link>
      {simulate}
      <Duplicate journey={journey} />
      {is_active ? (
        <>
          <Button onClick={() => setOpen('trigger')}>{m.acts.trigger}</Button>
          <Button onClick={() => setOpen('pause')}>{m.acts.pause}</Button>
        </>
      ) : (
        <Button kind="primary" onClick={() => setOpen('activate')}>
          {m.acts.activate}
        </Button>
      )}
      <Button kind="danger" onClick={() => setOpen('archive')}>
        {m.acts.archive}
      </Button>
      {dialog}
    </>
  );
}
