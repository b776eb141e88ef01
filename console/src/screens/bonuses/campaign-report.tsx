import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useMoney } from '../../api/currencies.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useRead } from '../../api/queries.ts';
import { formatInt, formatPercent } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { WithAudit } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Effect } from '../../ui/effect.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Page } from '../../ui/page.tsx';
import css from './bonuses.module.css';
import { Move, Skips } from './campaign-acts.tsx';
import type { BonusCampaign, BonusTemplate } from './queries.ts';
import { CampaignStatus } from './status.tsx';

const route = getRouteApi('/bonuses/campaigns/$id');
const m = t.bonuses.campaign;
const MOVES = {
  issuing: ['paused', 'cancelled'],
  paused: ['issuing', 'cancelled'],
} as const;

interface ReportProps {
  campaign: BonusCampaign;
  template: BonusTemplate | undefined;
}

/** What became of a bonus campaign: who got a bonus, who did not and why, and what it costs. */
export function Report({ campaign, template }: ReportProps) {
  const { tab } = route.useSearch();
  const may_edit = useMayEdit();
  const { role } = usePlace();
  const [to, setTo] = useState<'paused' | 'issuing' | 'cancelled'>();
  const { status, stats } = campaign;
  const moves = status === 'issuing' || status === 'paused' ? MOVES[status] : [];
  return (
    <Page
      title={campaign.name.slice(0, 200)}
      actions={
        may_edit ? (
          moves.map((one) => (
            <Button key={one} kind={one === 'cancelled' ? 'danger' : 'plain'} onClick={() => setTo(one)}>
              {m.moves[one].button}
            </Button>
          ))
        ) : (
          <Badge>{t.form.viewer(role)}</Badge>
        )
      }
    >
      {campaign.last_error === null ? null : (
        <p>
          <Badge tone="bad">{`${m.problem}: ${campaign.last_error}`}</Badge>
        </p>
      )}
      <WithAudit
        label={m.one}
        type="bonus_campaign"
        id={campaign.id}
        tab={tab}
        part={{ key: 'effect', title: t.effect.title, content: <EffectOf id={campaign.id} /> }}
        link={(tab, props) => (
          <Link
            {...props}
            to="/bonuses/campaigns/$id"
            params={{ id: campaign.id }}
            search={(before) => ({ ...before, tab })}
          />
        )}
      >
        <Facts
          label={m.one}
          facts={[
            [t.bonuses.status, <CampaignStatus key="status" status={status} />],
            [
              m.fields['template_id'] ?? '',
              <Link key="template" to="/bonuses/templates/$id" params={{ id: campaign.template_id }}>
                <bdi>{template?.name ?? campaign.template_id}</bdi>
              </Link>,
            ],
            [
              m.fields['segment_id'] ?? '',
              <Link key="segment" to="/segments/$id" params={{ id: campaign.segment_id }}>
                {campaign.segment_id}
              </Link>,
            ],
            [m.issuedAt, <Time key="issued" at={campaign.issued_at} />],
            [m.finishedAt, <Time key="finished" at={campaign.finished_at} />],
            [
              t.bonuses.tabs.grants,
              <Link key="grants" to="/bonuses" search={{ tab: 'grants', campaign: campaign.id }}>
                {m.itsGrants}
              </Link>,
            ],
          ]}
        />
        <Facts
          label={m.members}
          large
          facts={(['granted', 'pending', 'skipped', 'failed'] as const).map((one) => [
            m.stats[one],
            formatInt(stats[one]),
          ])}
        />
        <Waiting campaign={campaign} />
        <Budget campaign={campaign} />
        <section className={css['section']} aria-label={m.skipped}>
          <h2>{m.skipped}</h2>
          <Skips skips={campaign.skips} />
        </section>
      </WithAudit>
      {to === undefined ? null : <Move campaign={campaign} to={to} onClose={() => setTo(undefined)} />}
    </Page>
  );
}

function EffectOf({ id }: { id: string }) {
  return <Effect asked={useRead('bonusCampaigns.uplift', [id])} />;
}

/** That members wait for the daily budget, and until when. */
function Waiting({ campaign: { daily_budget, status } }: { campaign: BonusCampaign }) {
  const { waiting = 0, waits_until = null } = daily_budget ?? {};
  if (status !== 'issuing' || waiting === 0) return null;
  return (
    <p role="status">
      <Badge>{m.waits}</Badge> {m.waiting(waiting)} <Time at={waits_until} />
    </p>
  );
}

/** Shares are taken of so many parts, exactly, before they become a number. */
const PARTS = 10_000n;

function Budget({ campaign }: { campaign: BonusCampaign }) {
  const money = useMoney();
  const { cost, max_liability, max_grants, stats, daily_budget_base, daily_budget, pace } = campaign;
  const limit = max_liability === null ? 0n : max_liability;
  const share = limit === 0n ? 0 : Number((cost.granted_base * PARTS) / limit) / Number(PARTS);
  return (
    <section className={css['section']} aria-label={m.costTitle}>
      <h2>{m.costTitle}</h2>
      {max_liability === null ? null : (
        <>
          <progress className={css['bar']} max={1} value={share} aria-label={m.share(formatPercent(share))} />
          <p>{m.spent(money.base(cost.granted_base), money.base(max_liability), formatPercent(share))}</p>
        </>
      )}
      <Facts
        label={m.costTitle}
        facts={[
          ...(['granted_base', 'open_base', 'released_base', 'ended_unreleased_base'] as const).map(
            (one) => [m.cost[one], money.base(cost[one])] as const,
          ),
          [m.budget, max_liability === null ? t.bonuses.noLimit : money.base(max_liability)],
          ...(daily_budget_base === null
            ? []
            : ([
                [
                  m.fields['daily_budget_base'] ?? '',
                  m.ofDay(money.base(daily_budget?.used_base ?? 0n), money.base(daily_budget_base)),
                ],
                [m.fields['pace'] ?? '', m.paces[pace] ?? pace],
              ] as const)),
          [
            m.fields['max_grants'] ?? '',
            max_grants === null
              ? t.bonuses.noLimit
              : `${formatInt(stats.granted)} / ${formatInt(max_grants)}`,
          ],
        ]}
      />
    </section>
  );
}
