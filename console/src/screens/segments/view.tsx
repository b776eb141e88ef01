import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { usePlace } from '../../api/place.tsx';
import { newActionKey, useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Page } from '../../ui/page.tsx';
import { Spark } from '../../ui/spark.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Backtest } from './backtest.tsx';
import { Deletion } from './deletion.tsx';
import { Explain } from './explain.tsx';
import { useHistory, useSegment, type SegmentRecord } from './queries.ts';
import css from './segments.module.css';
import { lagText, State, strategyText } from './state.tsx';
import { Audit, Definition, Members, References } from './tabs.tsx';

const route = getRouteApi('/segments/$id');
const m = t.segments;

const TABS = {
  definition: Definition,
  members: Members,
  references: References,
  explain: Explain,
  backtest: Backtest,
  audit: Audit,
};
type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as Tab[];
const REFRESH_MS = 5_000;

/** One segment: how large it is, how it is kept up to date, who is in it and why, and what uses it. */
export function Segment() {
  const { id } = route.useParams();
  const { tab } = route.useSearch();
  const segment = useSegment(id, REFRESH_MS);
  const shown = NAMES.find((one) => one === tab) ?? 'definition';
  const Content = TABS[shown];
  const record = segment.data?.data;
  return (
    <Page title={record?.name ?? m.one} actions={record === undefined ? null : <Actions segment={record} />}>
      <Answered asked={segment} what={m.loadingOne}>
        {({ data }) => (
          <>
            <Summary segment={data} />
            <Tabs
              label={m.one}
              current={shown}
              tabs={NAMES.map((key) => ({ key, title: m.tabs[key] }))}
              link={(key, props) => (
                <Link
                  {...props}
                  to="/segments/$id"
                  params={{ id }}
                  search={(before) => ({ ...before, tab: key })}
                />
              )}
            >
              <Content segment={data} />
            </Tabs>
          </>
        )}
      </Answered>
    </Page>
  );
}

function Summary({ segment }: { segment: SegmentRecord }) {
  const { last_error, refresh_progress, description } = segment;
  const history = useHistory(segment.id);
  return (
    <>
      {description === '' ? null : (
        <p>
          <bdi>{description}</bdi>
        </p>
      )}
      {last_error === null ? null : (
        <p role="alert" className={css['error']}>
          {m.columns.error}: {last_error}
        </p>
      )}
      <Facts label={m.columns.size} large facts={[[m.columns.size, formatInt(segment.estimated_size)]]} />
      <Facts
        label={m.one}
        facts={[
          [m.columns.status, <State key="state" segment={segment} />],
          [m.columns.strategy, strategyText(segment)],
          [m.columns.evaluated, <Time key="evaluated" at={segment.last_computed_at} />],
          [m.columns.lag, lagText(segment)],
          ...(refresh_progress === null
            ? []
            : [
                [
                  m.status.running,
                  m.progress(refresh_progress.phase, refresh_progress.done, refresh_progress.total),
                ] as const,
              ]),
          [m.id, <Id key="id" value={segment.id} what={m.id} />],
          [m.created, <Time key="created" at={segment.created_at} />],
          [m.changed, <Time key="changed" at={segment.updated_at} />],
        ]}
      />
      <Answered asked={history} what={m.history}>
        {({ data }) => <Spark title={m.history} points={data.map(({ at, size }) => ({ at, value: size }))} />}
      </Answered>
    </>
  );
}

/** What may be done with the segment. */
function Actions({ segment }: { segment: SegmentRecord }) {
  const { role } = usePlace();
  const refresh = useChange('segments.refresh');
  const [deletes, setDeletes] = useState(false);
  if (!roleAllows(role, 'editor') || segment.deleted_at !== null) return null;
  const { id } = segment;
  const run = () => refresh.mutate({ inputs: [id], idempotency_key: newActionKey() });
  const result = refresh.data?.data;
  return (
    <>
      {refresh.error === null ? null : <Failed error={refresh.error} />}
      <span role="status" className={result === undefined ? undefined : css['done']}>
        {result === undefined
          ? ''
          : m.refreshed(result.matched, result.added, result.removed, result.duration_ms)}
      </span>
      <Button onClick={run} disabled={refresh.isPending}>
        {refresh.isPending ? m.refreshing : m.refresh}
      </Button>
      <Link to="/segments/$id/edit" params={{ id }} className={css['action']}>
        {m.edit}
      </Link>
      <Button kind="danger" onClick={() => setDeletes(true)}>
        {m.remove}
      </Button>
      {deletes ? <Deletion segment={segment} onClose={() => setDeletes(false)} /> : null}
    </>
  );
}
