import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useBaseCurrency, useMoney } from '../../api/currencies.ts';
import { useMayEdit } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Filter } from '../../ui/filter.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty, Failed } from '../../ui/states.tsx';
import css from './insights.module.css';
import { Figures } from './kind-figures.tsx';
import {
  useDashboard,
  useInsight,
  useSavedInsights,
  type DashboardRecord,
  type SavedInsight,
} from './queries.ts';
import { LAST_DAYS, queryIn, queryOnBoard, type InsightQuery } from './query.ts';
import { InsightLink } from './saved.tsx';

const m = t.insights.boards;
const FIXED = 'fixed';
type Tile = DashboardRecord['tiles'][number];

/** A dashboard: saved insights on one page, in the order that editors give them. */
export function Board({ id }: { id: string }) {
  const asked = useDashboard(id);
  const may_edit = useMayEdit();
  const save = useChange('dashboards.update');
  const [open, setOpen] = useState<'add' | 'delete'>();
  const board = asked.data?.data;
  const change = (changes: Parameters<typeof save.mutate>[0]['inputs'][1]) =>
    save.mutate({ inputs: [id, changes], if_match: asked.data?.etag });
  return (
    <Page
      title={board?.name ?? m.title}
      actions={
        may_edit && board !== undefined ? (
          <>
            <Button onClick={() => setOpen('add')}>{m.add}</Button>
            <Button kind="danger" onClick={() => setOpen('delete')}>
              {m.delete}
            </Button>
          </>
        ) : null
      }
    >
      {save.error === null ? null : <Failed error={save.error} />}
      <Answered asked={asked} what={m.loading}>
        {({ data }) => (
          <>
            <RangeOfAll
              board={data}
              disabled={!may_edit || save.isPending}
              onRange={(range) => change({ range })}
            />
            {data.tiles.length === 0 ? (
              <Empty title={m.empty}>
                <p>{m.emptyHelp}</p>
              </Empty>
            ) : (
              <Tiles
                board={data}
                disabled={!may_edit || save.isPending}
                onTiles={(tiles) => change({ tiles })}
              />
            )}
            {open === 'add' ? (
              <Add
                busy={save.isPending}
                onAdd={(insight_id) => {
                  change({ tiles: [...data.tiles, { insight_id, size: 'half' }] });
                  setOpen(undefined);
                }}
                onClose={() => setOpen(undefined)}
              />
            ) : null}
          </>
        )}
      </Answered>
      {open === 'delete' && board !== undefined ? (
        <Delete board={board} onClose={() => setOpen(undefined)} />
      ) : null}
    </Page>
  );
}

function RangeOfAll({
  board: { range },
  disabled,
  onRange,
}: {
  board: DashboardRecord;
  disabled: boolean;
  onRange: (range: { last: { days: number } } | null) => void;
}) {
  const last = range?.['last'] as { days: number } | undefined;
  /** One that somebody has set over the API. */
  const others = range === null || LAST_DAYS.some((days) => days === last?.days) ? [] : [FIXED];
  return (
    <fieldset disabled={disabled} className={css['range']}>
      <Filter
        label={m.range}
        any={m.ownRanges}
        value={range === null ? undefined : (others[0] ?? String(last?.days))}
        options={[
          ...LAST_DAYS.map((days) => ({ value: String(days), name: m.last(days) })),
          ...others.map((value) => ({ value, name: m.otherRange })),
        ]}
        onChange={(days) =>
          days !== FIXED && onRange(days === undefined ? null : { last: { days: Number(days) } })
        }
      />
    </fieldset>
  );
}

function Tiles({
  board,
  disabled,
  onTiles,
}: {
  board: DashboardRecord;
  disabled: boolean;
  onTiles: (tiles: Tile[]) => void;
}) {
  const insights = useSavedInsights();
  const { tiles } = board;
  const without = (place: number) => tiles.filter((_, i) => i !== place);
  return (
    <div className={css['board']}>
      {tiles.map((tile, place) => {
        const insight = insights.rows?.find(({ id }) => id === tile.insight_id);
        if (insight === undefined) {
          return insights.rows === undefined ? null : (
            <p key={tile.insight_id} className={css['soft']}>
              {m.gone}
            </p>
          );
        }
        const { name } = insight;
        const is_wide = tile.size === 'full';
        return (
          <section
            key={`${tile.insight_id} ${place}`}
            className={`${css['tile']} ${is_wide ? css['wide'] : ''}`}
            aria-label={name}
          >
            <h2>
              <InsightLink insight={insight} />
            </h2>
            {disabled ? null : (
              <div className={css['tileActs']}>
                {place === 0 ? null : (
                  <Button
                    kind="quiet"
                    aria-label={m.up(name)}
                    onClick={() => onTiles(without(place).toSpliced(place - 1, 0, tile))}
                  >
                    ↑
                  </Button>
                )}
                <Button
                  kind="quiet"
                  aria-label={is_wide ? m.narrow(name) : m.wide(name)}
                  onClick={() => onTiles(tiles.with(place, { ...tile, size: is_wide ? 'half' : 'full' }))}
                >
                  {is_wide ? '→←' : '←→'}
                </Button>
                <Button kind="quiet" aria-label={m.remove(name)} onClick={() => onTiles(without(place))}>
                  ✕
                </Button>
              </div>
            )}
            <Content insight={insight} board={board} />
          </section>
        );
      })}
    </div>
  );
}

function Content({ insight, board }: { insight: SavedInsight; board: DashboardRecord }) {
  const query = queryIn(insight.query);
  if (query === undefined) return <p>{t.insights.saved.unread}</p>;
  return <Shown query={queryOnBoard(query, board)} saved={insight.id} />;
}

function Shown({ query, saved }: { query: InsightQuery; saved: string }) {
  const asked = useInsight(query);
  const navigate = useNavigate({ from: '/insights' });
  const writer = { money: useMoney(), base: useBaseCurrency() };
  const open = (cell: object) =>
    void navigate({ search: ({ project }) => ({ project, q: query, saved, cell }) });
  return (
    <Answered asked={asked} what={t.insights.loading}>
      {({ data }) => <Figures query={query} answer={data} writer={writer} onOpen={open} />}
    </Answered>
  );
}

function Add({
  busy,
  onAdd,
  onClose,
}: {
  busy: boolean;
  onAdd: (insight_id: string) => void;
  onClose: () => void;
}) {
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <ActDialog
      title={m.add}
      verb={m.add}
      busy={busy}
      ready={chosen !== null}
      error={null}
      onAct={() => chosen !== null && onAdd(chosen)}
      onClose={onClose}
    >
      <Choice
        label={m.insight}
        pages={useSavedInsights()}
        value={chosen}
        none={m.choose}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        onChange={setChosen}
      />
    </ActDialog>
  );
}

function Delete({ board: { id, name }, onClose }: { board: DashboardRecord; onClose: () => void }) {
  const remove = useChange('dashboards.delete');
  const navigate = useNavigate({ from: '/insights' });
  return (
    <Confirm
      title={t.insights.saved.delete(name)}
      verb={m.delete}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() =>
        remove.mutate(
          { inputs: [id] },
          { onSuccess: () => void navigate({ search: ({ project }) => ({ project }) }) },
        )
      }
      onClose={onClose}
    >
      <p>{m.deleteHelp}</p>
    </Confirm>
  );
}
