import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useBaseCurrency, useMoney } from '../../api/currencies.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered } from '../../ui/states.tsx';
import { Board } from './board.tsx';
import { meaningOf } from './cells.ts';
import { Editor } from './editor.tsx';
import { Export } from './export.tsx';
import { Figures } from './kind-figures.tsx';
import css from './insights.module.css';
import { Players } from './players.tsx';
import { Dashboards, SavedInsights, SaveInsight } from './saved.tsx';
import { useInsight } from './queries.ts';
import { presetsAt, queryIn, type Answer, type InsightQuery } from './query.ts';

const m = t.insights;
const route = getRouteApi('/insights');

/** Questions to choose from; or the one of the address, with its answer; or a dashboard. */
export function Insights() {
  const { q, board } = route.useSearch();
  const query = queryIn(q);
  if (query !== undefined) return <Asked query={query} />;
  if (board !== undefined) return <Board key={board} id={board} />;
  return <Questions is_unread={q !== undefined} />;
}

/** The questions that have a tile. */
function Questions({ is_unread }: { is_unread: boolean }) {
  const [presets] = useState(() => presetsAt(Date.now()));
  return (
    <Page title={m.title}>
      <p className={css['soft']}>{is_unread ? m.unread : m.help}</p>
      <ul className={css['tiles']} aria-label={m.questions}>
        {presets.map(({ key, query }) => (
          <li key={key}>
            <Link to="/insights" search={(before) => ({ ...before, q: query })}>
              <strong>{m.presets[key].title}</strong>
              <span>{m.presets[key].text}</span>
            </Link>
          </li>
        ))}
        <li>
          <Link to="/campaigns" search={{ status: 'sent' }}>
            <strong>{m.campaigns.title}</strong>
            <span>{m.campaigns.text}</span>
          </Link>
        </li>
        <li>
          <Link to="/insights/holdout">
            <strong>{m.holdout.tile}</strong>
            <span>{m.holdout.text}</span>
          </Link>
        </li>
        <li>
          <Link to="/insights/alerts">
            <strong>{t.alerts.tile}</strong>
            <span>{t.alerts.text}</span>
          </Link>
        </li>
        <li>
          <Link to="/insights/reports">
            <strong>{t.reports.tile}</strong>
            <span>{t.reports.text}</span>
          </Link>
        </li>
        <li>
          <Link to="/insights/models">
            <strong>{t.models.tile}</strong>
            <span>{t.models.text}</span>
          </Link>
        </li>
      </ul>
      <Dashboards />
      <SavedInsights />
    </Page>
  );
}

function Asked({ query }: { query: InsightQuery }) {
  const navigate = useNavigate({ from: '/insights' });
  const asked = useInsight(query);
  const place = usePlace();
  const may_edit = useMayEdit();
  const [exports, setExports] = useState(false);
  const answer = asked.data?.data;
  const ask = (next: InsightQuery) =>
    void navigate({ search: (before) => ({ ...before, q: next, cell: undefined }) });
  return (
    <Page
      title={m.title}
      actions={
        <>
          <Button onClick={() => setExports(true)}>{m.exports.open}</Button>
          {may_edit ? <SaveInsight query={query} /> : null}
          <Link to="/insights" search={({ project }) => ({ project })}>
            {m.toQuestions}
          </Link>
        </>
      }
    >
      {exports ? <Export query={query} onClose={() => setExports(false)} /> : null}
      <div className={css['asked']}>
        <Editor query={query} zone={answer?.timezone ?? place.timezone} onQuery={ask} />
        <section className={css['answer']} aria-label={m.answer} aria-busy={asked.isPlaceholderData}>
          <Answered asked={asked} what={m.loading}>
            {({ data }) => <Result query={query} answer={data} is_former={asked.isPlaceholderData} />}
          </Answered>
        </section>
      </div>
    </Page>
  );
}

interface ResultProps {
  query: InsightQuery;
  answer: Answer;
  /** The answer is that of the query before. */
  is_former: boolean;
}

function Result({ query, answer, is_former }: ResultProps) {
  const money = useMoney();
  const base = useBaseCurrency();
  const { cell } = route.useSearch();
  const navigate = useNavigate({ from: '/insights' });
  // An answer to another query has other columns.
  const [last, setLast] = useState(query);
  if (!is_former && last !== query) setLast(query);
  const shown = is_former ? last : query;
  const writer = { money, base };
  const open = (next: object | undefined) =>
    void navigate({ search: (before) => ({ ...before, cell: next }) });
  return (
    <>
      <About query={query} answer={answer} />
      <Figures query={shown} answer={answer} writer={writer} onOpen={open} />
      {cell === undefined || is_former ? null : (
        <Players
          query={query}
          cell={cell}
          {...meaningOf(cell, query, answer)}
          writer={writer}
          onClose={() => open(undefined)}
        />
      )}
    </>
  );
}

/** Of when the figures are, by whose clock, and what is not final about them. */
function About({ query, answer }: { query: InsightQuery; answer: Answer }) {
  const { as_of, timezone, currency, restating_days, is_exact, error, bonus_cost } = answer;
  const has_bonus_cost = /"(ngr|bonus_cost|bonus_ratio|arpu)"/.test(JSON.stringify(query));
  return (
    <>
      {restating_days > 0 ? (
        <p role="status" className={css['restating']}>
          {m.restating(restating_days)}
        </p>
      ) : null}
      <p className={css['soft']}>
        {m.about(timezone, currency)} {m.asOf} <Time at={as_of} />.{' '}
        {has_bonus_cost ? m.bonusCost[bonus_cost] : null} {is_exact ? null : m.estimated(error ?? 0)}
      </p>
    </>
  );
}
