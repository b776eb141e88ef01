import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useMoney } from '../../api/currencies.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { writeExactly } from '../../api/json.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered } from '../../ui/states.tsx';
import css from './bonuses.module.css';
import { CancelGrant } from './cancel-grant.tsx';
import { Happened, StatePath } from './path.tsx';
import { isLive, useBonusTemplate, useGrant, type Grant, type GrantEvent } from './queries.ts';
import { GrantStatus } from './status.tsx';
import { Wagering } from './wagering.tsx';

const route = getRouteApi('/bonuses/grants/$id');
const m = t.bonuses.grant;

/** One grant: where it stands, and by which way it came there. */
export function GrantPage() {
  const { id } = route.useParams();
  return (
    <Answered asked={useGrant(id)} what={m.one}>
      {({ data }) => <Shown key={id} grant={data} />}
    </Answered>
  );
}

function Shown({ grant }: { grant: Grant & { history: GrantEvent[] } }) {
  const may_edit = useMayEdit();
  const { role } = usePlace();
  const [cancels, setCancels] = useState(false);
  return (
    <Page
      title={m.of(grant.player_external_id.slice(0, 100))}
      actions={
        may_edit ? (
          isLive(grant) ? (
            <Button kind="danger" onClick={() => setCancels(true)}>
              {m.cancel.button}
            </Button>
          ) : null
        ) : (
          <Badge>{t.form.viewer(role)}</Badge>
        )
      }
    >
      {grant.needs_review ? (
        <p>
          <Badge tone="warn">{m.needsReview}</Badge> {m.needsReviewHelp}
        </p>
      ) : null}
      <Summary grant={grant} />
      <Wagering grant={grant} />
      <StatePath grant={grant} />
      <Platform grant={grant} />
      <Happened history={grant.history} />
      {cancels ? <CancelGrant grant={grant} onClose={() => setCancels(false)} /> : null}
    </Page>
  );
}

function Summary({ grant }: { grant: Grant }) {
  const money = useMoney();
  const template = useBonusTemplate(grant.template_id, true).data?.data;
  const of = (amount: Grant['deposit_amount']) => (amount === null ? '—' : money.of(amount, grant.currency));
  return (
    <>
      <Facts
        label={m.amounts}
        large
        facts={[
          [m.bonus, of(grant.bonus_amount)],
          [m.bonusBase, money.base(grant.bonus_amount_base)],
          [m.deposit, of(grant.deposit_amount)],
          [m.released, of(grant.released_amount)],
          [m.maxWin, grant.max_win_cap === null ? t.bonuses.noLimit : of(grant.max_win_cap)],
        ]}
      />
      <Facts
        label={m.one}
        facts={[
          [t.bonuses.status, <GrantStatus key="status" status={grant.status} />],
          [
            m.player,
            <Link key="player" to="/players/$id" params={{ id: grant.player_id }}>
              <bdi>{grant.player_external_id}</bdi>
            </Link>,
          ],
          [
            m.template,
            <Link key="template" to="/bonuses/templates/$id" params={{ id: grant.template_id }}>
              <bdi>{template?.name ?? grant.template_id}</bdi>
            </Link>,
          ],
          [t.bonuses.template.version, grant.template_version],
          [
            m.grantedBy,
            [m.by[grant.granted_by_kind] ?? grant.granted_by_kind, grant.granted_by_user ?? '']
              .filter((text) => text !== '')
              .join(': '),
          ],
          ...(grant.deposit_transaction_id === null
            ? []
            : ([[m.depositId, <bdi key="deposit">{grant.deposit_transaction_id}</bdi>]] as const)),
          ...(grant.deposit_reversed_at === null
            ? []
            : ([[m.depositReversed, <Time key="reversed" at={grant.deposit_reversed_at} />]] as const)),
          [m.created, <Time key="created" at={grant.created_at} />],
          [m.activated, <Time key="activated" at={grant.activated_at} />],
          [m.ended, <Time key="ended" at={grant.ended_at} />],
          [m.rate, grant.fx === null ? '—' : writeExactly(grant.fx.rate)],
          [t.bonuses.id, <Id key="id" value={grant.id} what={t.bonuses.id} />],
        ]}
      />
    </>
  );
}

/** What the platform has said, and what it is asked next. */
function Platform({ grant }: { grant: Grant }) {
  const { last_error } = grant;
  return (
    <section className={css['section']} aria-label={m.platform}>
      <h2>{m.platform}</h2>
      <Facts
        label={m.platform}
        facts={[
          [m.outcome, m.outcomes[grant.outcome] ?? grant.outcome],
          [m.adapter, grant.adapter_slug === '' ? '—' : grant.adapter_slug],
          [m.platformId, <bdi key="id">{grant.platform_bonus_id ?? '—'}</bdi>],
          [m.attempts, grant.attempts],
          [m.nextAttempt, <Time key="next" at={grant.next_attempt_at} />],
          [m.cancelAsked, <Time key="asked" at={grant.cancel_requested_at} />],
        ]}
      />
      {last_error === null ? null : (
        <p>
          <Badge tone="bad">{`${m.lastError}: ${last_error.code}`}</Badge> <bdi>{last_error.message}</bdi>{' '}
          <Time at={last_error.at} />
        </p>
      )}
    </section>
  );
}
