import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useMoney } from '../../api/currencies.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useRead } from '../../api/queries.ts';
import { formatInt, formatPercent, formatShort } from '../../format/number.ts';
import { dateBelow, formatTime } from '../../format/time.ts';
import { Time, useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { AuditTab } from '../../ui/audit.tsx';
import { Button } from '../../ui/button.tsx';
import { Chart } from '../../ui/chart.tsx';
import { Effect } from '../../ui/effect.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Field } from '../../ui/field.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import css from './campaigns.module.css';
import { Codes } from './codes.tsx';
import { Comparison } from './comparison.tsx';
import { Duplicate } from './duplicate.tsx';
import { Headline } from './headline.tsx';
import {
  METRICS,
  useConversions,
  useFailures,
  useSeries,
  useStats,
  type CampaignRecord,
  type Counters,
} from './queries.ts';
import { Recipients } from './recipients.tsx';
import { Cancel } from './send.tsx';
import { Status } from './status.tsx';

const route = getRouteApi('/campaigns/$id');
const m = t.campaigns.report;
const TABS = ['overview', 'effect', 'reasons', 'recipients', 'audit'] as const;
const STAGES = ['recipients_total', 'sent', 'delivered', 'opened', 'clicked'] as const;

/** What became of a campaign that was sent. */
export function Report({ campaign }: { campaign: CampaignRecord }) {
  const { tab } = route.useSearch();
  const may_edit = useMayEdit();
  const [cancels, setCancels] = useState(false);
  const shown = TABS.find((one) => one === tab) ?? 'overview';
  const { project_id } = usePlace();
  const client = useQueryClient();
  const { status } = campaign;
  useEffect(() => {
    // The last figures that were asked while it was being sent are not the final ones.
    if (status !== 'sending') void client.invalidateQueries({ queryKey: [project_id] });
  }, [status, client, project_id]);
  return (
    <Page
      title={campaign.name}
      actions={
        may_edit ? (
          <>
            <Duplicate campaign={campaign} />
            {campaign.status === 'sending' ? (
              <Button kind="danger" onClick={() => setCancels(true)}>
                {t.campaigns.cancel.button}
              </Button>
            ) : null}
          </>
        ) : null
      }
    >
      <Headline campaign={campaign} />
      <Facts
        label={t.campaigns.one}
        facts={[
          [t.campaigns.status, <Status key="status" status={campaign.status} />],
          [t.campaigns.channel, t.names.channels[campaign.channel]],
          [m.started, <Time key="started" at={campaign.started_at} />],
          [m.finished, <Time key="finished" at={campaign.finished_at} />],
          [t.campaigns.goal, campaign.goal_event ?? '—'],
        ]}
      />
      {campaign.status === 'sending' ? <p role="status">{m.live}</p> : null}
      <Tabs
        label={t.campaigns.one}
        current={shown}
        tabs={TABS.map((key) => ({ key, title: m.tabs[key] }))}
        link={(key, props) => (
          <Link
            {...props}
            to="/campaigns/$id"
            params={{ id: campaign.id }}
            search={(before) => ({ ...before, tab: key })}
          />
        )}
      >
        {shown === 'overview' ? <Overview campaign={campaign} /> : null}
        {shown === 'effect' ? <EffectOf campaign={campaign} /> : null}
        {shown === 'reasons' ? <Reasons campaign={campaign} /> : null}
        {shown === 'recipients' ? <Recipients campaign={campaign} /> : null}
        {shown === 'audit' ? <AuditTab type="campaign" id={campaign.id} /> : null}
      </Tabs>
      {cancels ? (
        <Cancel campaign={campaign} onClose={() => setCancels(false)} onDone={() => setCancels(false)} />
      ) : null}
    </Page>
  );
}

/** What the campaign has added; where its members got it at hours of their own, also what these have. */
function EffectOf({ campaign: { id, send_time } }: { campaign: CampaignRecord }) {
  const [compare, setCompare] = useState<'holdout' | 'send_time'>('holdout');
  const asked = useRead('campaigns.uplift', [id, { compare }]);
  if (send_time === null) return <Effect asked={asked} />;
  return (
    <>
      <Field label={t.effect.compare}>
        {(control) => (
          <select
            {...control}
            value={compare}
            onChange={({ target }) => setCompare(target.value === 'send_time' ? 'send_time' : 'holdout')}
          >
            <option value="holdout">{t.effect.compared.holdout}</option>
            <option value="send_time">{t.effect.compared.send_time}</option>
          </select>
        )}
      </Field>
      <Effect asked={asked} compares={compare} />
    </>
  );
}

function Overview({ campaign }: { campaign: CampaignRecord }) {
  const money = useMoney();
  return (
    <>
      <Answered asked={useStats(campaign)} what={m.funnel}>
        {({ data }) => <Funnel counters={data.counters} machine_opened={data.machine_opened} />}
      </Answered>
      <Answered asked={useConversions(campaign)} what={m.variants}>
        {({ data }) => <Comparison campaign={campaign} outcomes={data.variants} money={money} />}
      </Answered>
      <OverTime campaign={campaign} />
    </>
  );
}

function Funnel({ counters, machine_opened }: { counters: Counters; machine_opened: number }) {
  return (
    <section className={`${css['section']} ${css['funnel']}`} aria-label={m.funnel}>
      <h2>{m.funnel}</h2>
      <Table
        label={m.funnel}
        head={[m.stage, m.messages, m.ofBefore, '']}
        rows={STAGES.map((stage, i) => {
          const before = counters[STAGES[i - 1] ?? stage];
          const share = before === 0 ? 0 : counters[stage] / before;
          return {
            key: stage,
            cells: [
              m.stages[stage],
              formatInt(counters[stage]),
              i === 0 ? '—' : formatPercent(share),
              <meter
                key="meter"
                aria-label={m.stages[stage]}
                min={0}
                max={Math.max(1, counters.recipients_total)}
                value={counters[stage]}
              />,
            ],
          };
        })}
      />
      <Facts
        label={m.notSent}
        facts={[
          [m.bounced, formatInt(counters.bounced)],
          [m.notSent, formatInt(counters.failed + counters.capped)],
          [m.machineOpened, formatInt(machine_opened)],
        ]}
      />
    </section>
  );
}

function OverTime({ campaign }: { campaign: CampaignRecord }) {
  const { metric: asked } = route.useSearch();
  const { name: zone } = useZone();
  const navigate = useNavigate({ from: '/campaigns/$id' });
  const metric = METRICS.find((one) => one === asked) ?? 'sent';
  return (
    <section className={css['section']} aria-label={m.overTime}>
      <h2>{m.overTime}</h2>
      <Field label={m.metric}>
        {(control) => (
          <select
            {...control}
            value={metric}
            onChange={({ target }) =>
              void navigate({ search: (before) => ({ ...before, metric: target.value }), replace: true })
            }
          >
            {METRICS.map((one) => (
              <option key={one} value={one}>
                {m.metrics[one]}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Answered asked={useSeries(campaign)} what={m.overTime}>
        {({ data }) =>
          data.points.length === 0 ? (
            <Empty title={m.noSeries} />
          ) : (
            <Chart
              title={m.metrics[metric]}
              as="bars"
              note={data.is_complete ? null : <p>{m.partialSeries}</p>}
              points={data.points.map(({ at }) => ({
                key: at,
                // Days are those of UTC in every zone.
                label: data.interval === 'day' ? at.slice(0, 10) : formatTime(at, zone),
                short: data.interval === 'day' ? at.slice(5, 10) : dateBelow(at, zone, true),
              }))}
              series={[
                {
                  name: m.metrics[metric],
                  figures: data.points.map((point) => ({
                    value: point[metric],
                    text: formatInt(point[metric]),
                    figure: String(point[metric]),
                  })),
                },
              ]}
              tick={formatShort}
              none={t.chart.none(m.nouns[metric])}
            />
          )
        }
      </Answered>
    </section>
  );
}

function Reasons({ campaign }: { campaign: CampaignRecord }) {
  return (
    <Answered asked={useFailures(campaign)} what={m.tabs.reasons}>
      {({ data: { by_code } }) =>
        Object.keys(by_code).length === 0 ? (
          <Empty title={m.noReasons} />
        ) : (
          <Codes label={m.tabs.reasons} by_code={by_code} />
        )
      }
    </Answered>
  );
}
