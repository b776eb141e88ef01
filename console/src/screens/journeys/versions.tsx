import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useMayEdit } from '../../api/place.tsx';
import { newActionKey, useChange } from '../../api/queries.ts';
import { formatValue } from '../../format/value.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/field.tsx';
import { Buttons } from '../../ui/form.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { shortName } from './acts.tsx';
import { differencesOf, type Content, type Difference } from './difference.ts';
import { graphOf, idOf } from './graph.ts';
import css from './journeys.module.css';
import { MoveRuns } from './move-runs.tsx';
import { useNames } from './names.ts';
import { MOST_COUNTED, useVersion, useVersions, type JourneyRecord, type ListedVersion } from './queries.ts';
import { titleOf, type NameOf } from './words.ts';

const route = getRouteApi('/journeys/$id');
const m = t.journeys.versions;
/** What was saved last, in the address. */
const SAVED = 'saved';

/** The published versions, and the difference of two of them or of what was saved last. */
export function Versions({ journey }: { journey: JourneyRecord }) {
  const versions = useVersions(journey.id);
  const may_edit = useMayEdit() && journey.deleted_at === null;
  const [published, setPublished] = useState<number>();
  const [moving, setMoving] = useState(false);
  const { rows, hasNextPage, fetchNextPage, isFetchingNextPage } = versions;
  return (
    <>
      <Answered asked={{ ...versions, data: rows }} what={m.loading}>
        {(listed) =>
          listed.length === 0 ? (
            <Empty title={m.none}>
              <p>{m.noneHelp}</p>
            </Empty>
          ) : (
            <>
              <Table
                label={t.journeys.tabs.versions}
                head={[m.version, m.published, m.by, m.running, ...(may_edit ? [m.publish] : [])]}
                rows={listed.map((row) => ({
                  key: String(row.version),
                  cells: [
                    <span key="version">
                      {row.version}{' '}
                      {row.version === journey.version ? <Badge tone="good">{m.live}</Badge> : null}
                    </span>,
                    <Time key="published" at={row.published_at} />,
                    row.published_by ?? m.service,
                    t.journeys.running(row.running, row.running >= MOST_COUNTED),
                    ...(may_edit
                      ? [
                          row.version === journey.version && journey.draft_version === null ? (
                            ''
                          ) : (
                            <Button key="publish" kind="quiet" onClick={() => setPublished(row.version)}>
                              {`${m.publish}: ${row.version}`}
                            </Button>
                          ),
                        ]
                      : []),
                  ],
                }))}
              />
              {hasNextPage ? (
                <Button kind="quiet" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                  {t.grid.more}
                </Button>
              ) : null}
              {may_edit && listed.length > 1 ? (
                <Buttons>
                  <Button onClick={() => setMoving(true)}>{t.journeys.moves.open}</Button>
                </Buttons>
              ) : null}
              {moving ? (
                <MoveRuns journey={journey} listed={listed} onClose={() => setMoving(false)} />
              ) : null}
              <Comparison journey={journey} listed={listed} />
            </>
          )
        }
      </Answered>
      {published === undefined ? null : (
        <Publish journey={journey} version={published} onClose={() => setPublished(undefined)} />
      )}
    </>
  );
}

function Comparison({ journey, listed }: { journey: JourneyRecord; listed: readonly ListedVersion[] }) {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/journeys/$id' });
  const numbers = listed.map(({ version }) => version);
  const [newest = 1, before = newest] = numbers;
  const has_draft = journey.draft_version !== null;
  const to = search.to ?? (has_draft ? SAVED : String(newest));
  const from = search.from ?? String(has_draft ? newest : before);
  const choose = (name: 'from' | 'to', value: string) =>
    void navigate({ search: (old) => ({ ...old, [name]: value }) });
  const choice = (name: 'from' | 'to', value: string) => (
    <Field label={m[name]}>
      {(control) => (
        <select {...control} value={value} onChange={({ target }) => choose(name, target.value)}>
          <option value={SAVED}>{m.saved}</option>
          {value === SAVED || numbers.includes(Number(value)) ? null : <option>{value}</option>}
          {numbers.map((version) => (
            <option key={version} value={version}>
              {t.journeys.versionNumber(version)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
  return (
    <>
      <h2>{m.difference}</h2>
      <div className={css['chosen']}>
        {choice('from', from)}
        {choice('to', to)}
      </div>
      <Side journey={journey} version={from}>
        {(old) => (
          <Side journey={journey} version={to}>
            {(now) => <Differences journey={journey} before={old} after={now} />}
          </Side>
        )}
      </Side>
    </>
  );
}

/** The content of a version, or of what was saved last. */
function Side({
  journey,
  version,
  children,
}: {
  journey: JourneyRecord;
  version: string;
  children: (content: Content) => React.ReactNode;
}) {
  const number = /^[1-9]\d{0,8}$/.test(version) ? Number(version) : undefined;
  const asked = useVersion(journey.id, number);
  if (number === undefined) return children(journey);
  return (
    <Answered asked={asked} what={m.loadingDifference}>
      {({ data }) => children(data)}
    </Answered>
  );
}

const TONES: Readonly<Record<Difference['kind'], Tone>> = { added: 'good', removed: 'bad', changed: 'warn' };

function Differences({
  journey: { trigger, graph, settings },
  before,
  after,
}: {
  journey: JourneyRecord;
  before: Content;
  after: Content;
}) {
  const nameOf = useNames(trigger, graphOf(graph), settings);
  const differences = differencesOf(before, after);
  if (differences.length === 0) return <p role="status">{m.same}</p>;
  return (
    <Table
      label={m.difference}
      head={[m.part, m.change, m.before, m.after]}
      rows={differences.map((one, i) => ({
        key: String(i),
        cells: [
          <Part key="part" difference={one} nameOf={nameOf} />,
          <Badge key="change" tone={TONES[one.kind]}>
            {m[one.kind]}
          </Badge>,
          <bdi key="before">{one.before === undefined ? '—' : formatValue(one.before)}</bdi>,
          <bdi key="after">{one.after === undefined ? '—' : formatValue(one.after)}</bdi>,
        ],
      }))}
    />
  );
}

/** Which part a difference is in. */
export function Part({
  difference: { part, node, field },
  nameOf,
}: {
  difference: Difference;
  nameOf: NameOf;
}) {
  return (
    <span>
      {part === 'node' && node !== undefined ? (
        <>
          <bdi>{titleOf(node, nameOf)}</bdi> <code>{idOf(node)}</code>
        </>
      ) : (
        m[part === 'node' ? 'part' : part]
      )}
      {field === undefined ? null : <code>{` ${field}`}</code>}
    </span>
  );
}

/** Asks before a version is published again. */
function Publish({
  journey,
  version,
  onClose,
}: {
  journey: JourneyRecord;
  version: number;
  onClose: () => void;
}) {
  const [key] = useState(newActionKey);
  const act = useChange('journeys.versions.publish');
  return (
    <Confirm
      title={m.publishTitle(version, shortName(journey.name))}
      verb={m.publish}
      busy={act.isPending}
      error={act.error}
      onClose={onClose}
      onConfirm={() =>
        act.mutate({ inputs: [journey.id, String(version)], idempotency_key: key }, { onSuccess: onClose })
      }
    >
      <p>{m.publishText((journey.version ?? 0) + 1)}</p>
    </Confirm>
  );
}
