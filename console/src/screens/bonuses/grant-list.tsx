import { wordsOf } from '../../format/code-words.ts';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { oneOf } from '../../api/choices.ts';
import { useMoney } from '../../api/currencies.ts';
import { formatPercent } from '../../format/number.ts';
import { uuidOf } from '../../format/uuid.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Filter } from '../../ui/filter.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { PlayerChoice } from '../../ui/player-choice.tsx';
import { optionsOf } from '../../ui/record-field.tsx';
import { Empty } from '../../ui/states.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { GRANT_STATUSES, useGrants, useTemplateChoice, type Grant } from './queries.ts';
import { GrantStatus } from './status.tsx';
import { shareOf } from './wagering.tsx';

const route = getRouteApi('/bonuses');
const m = t.bonuses.grant;
const EXAMPLE = `curl -X POST "$BASE/v1/bonus-grants" -H "Authorization: Bearer $SESSION" -H 'Content-Type: application/json' \\
  -H "Idempotency-Key: $(uuidgen)" -d '{"template_id":"…","player_id":"…"}'`;

/** All grants, the newest first. */
export function Grants() {
  const search = route.useSearch();
  const player_id = uuidOf(search.player);
  const status = oneOf(GRANT_STATUSES, search.status);
  const template_id = uuidOf(search.template);
  const campaign_id = uuidOf(search.campaign);
  const needs_review = search.review === 'yes' ? 'true' : undefined;
  const filters = { player_id, status, template_id, campaign_id, needs_review } as const;
  const navigate = useNavigate({ from: '/bonuses' });
  const money = useMoney();
  const templates = useTemplateChoice().rows ?? [];
  const filter = (change: typeof search) => void navigate({ search: (before) => ({ ...before, ...change }) });
  const columns: Column<Grant>[] = [
    {
      key: 'created',
      title: m.columns.created,
      width: '210px',
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      key: 'player',
      title: m.player,
      width: 'minmax(140px, 1fr)',
      cell: ({ player_id: id, player_external_id }) => (
        <PlayerName id={id} external_id={player_external_id} />
      ),
    },
    {
      key: 'template',
      title: m.template,
      width: 'minmax(140px, 1fr)',
      cell: ({ template_id }) => (
        <bdi>{templates.find(({ id }) => id === template_id)?.name ?? template_id}</bdi>
      ),
    },
    {
      key: 'status',
      title: t.bonuses.status,
      width: '130px',
      cell: (row) => <GrantStatus status={row.status} />,
    },
    {
      key: 'amount',
      title: m.columns.amount,
      width: '190px',
      align: 'right',
      cell: ({ bonus_amount, currency }) => money.of(bonus_amount, currency),
    },
    {
      key: 'progress',
      title: m.columns.progress,
      width: '90px',
      align: 'right',
      cell: (row) => (row.wagering_required === 0n ? '—' : formatPercent(shareOf(row))),
    },
    {
      key: 'reason',
      title: m.columns.reason,
      width: 'minmax(140px, 1fr)',
      cell: ({ needs_review, status_reason, last_error }) =>
        needs_review ? (
          <Badge tone="warn">{m.needsReview}</Badge>
        ) : (
          wordsOf(status_reason ?? last_error?.code ?? '—')
        ),
    },
  ];
  const is_filtered = Object.values(filters).some((one) => one !== undefined);
  return (
    <>
      <search>
        <PlayerChoice label={m.player} value={player_id} onChoose={(id) => filter({ player: id })} />
        <Filter
          label={t.bonuses.status}
          value={status}
          any={t.bonuses.anyStatus}
          options={optionsOf(m.statuses)}
          onChange={(value) => filter({ status: value })}
        />
        <Filter
          label={m.template}
          value={template_id}
          any={m.anyTemplate}
          options={templates.map(({ id, name }) => ({ value: id, name: name.slice(0, 100) }))}
          onChange={(value) => filter({ template: value })}
        />
        <label>
          <input
            type="checkbox"
            checked={needs_review !== undefined}
            onChange={({ target }) => filter({ review: target.checked ? 'yes' : undefined })}
          />{' '}
          {m.review}
        </label>
      </search>
      <Listed
        pages={useGrants(filters)}
        label={m.loading}
        columns={columns}
        keyOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/bonuses/grants/$id', params: { id } })}
        empty={
          is_filtered ? (
            <Empty title={m.noMatch} />
          ) : (
            <Empty title={m.none} call={EXAMPLE}>
              <p>{m.noneHelp}</p>
            </Empty>
          )
        }
      />
    </>
  );
}
