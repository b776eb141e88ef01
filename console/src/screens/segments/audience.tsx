import { Link } from '@tanstack/react-router';
import type { UseQueryResult } from '@tanstack/react-query';
import type { Answer } from '../../api/client.ts';
import type { ApiError } from '@player-engagement/client/admin';
import { wordsOf } from '../../format/code-words.ts';
import { formatInt, formatPercent } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Failed, Loading } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import css from './builder.module.css';
import { usePreview, type Preview } from './queries.ts';

const m = t.segments.size;
/** Reasons that are shown of a channel. */
const MOST_CODES = 3;

interface AudienceProps {
  /** The definition as it is now; undefined: it cannot be sent yet. */
  definition: string | undefined;
  /** The definition that is asked about: a moment behind. */
  asked: string | undefined;
  size: UseQueryResult<Answer<Preview>, ApiError>;
}

/** How many players the definition takes, whom a message reaches, and ten of them; while it is edited. */
export function Audience({ definition, asked, size }: AudienceProps) {
  const { data, error, isPlaceholderData, refetch } = size;
  const is_current = definition === asked && !isPlaceholderData;
  const preview = data?.data;
  return (
    <section className={css['panel']} aria-label={m.title}>
      <h2>{m.title}</h2>
      {definition === undefined ? <p>{m.unfinished}</p> : null}
      <p role="status" className={css['size']} data-state={is_current ? 'counted' : 'counting'}>
        {definition === undefined || (error !== null && is_current)
          ? ''
          : preview === undefined || !is_current
            ? m.counting
            : m.players(preview.estimated_size)}
      </p>
      {error === null || definition === undefined ? null : error.status === 422 ? (
        <p>{m.refused}</p>
      ) : (
        <Failed error={error} retry={() => void refetch()} />
      )}
      {definition !== undefined && is_current && error === null && preview !== undefined ? (
        <>
          <Reach definition={definition} />
          <Sample player_ids={preview.sample} />
          <details>
            <summary>{t.segments.query}</summary>
            <pre className={css['json']} tabIndex={0} role="group" aria-label={t.segments.query}>
              {preview.compiled_query}
            </pre>
          </details>
        </>
      ) : null}
    </section>
  );
}

/** Asked behind the size, because it takes longer. */
function Reach({ definition }: { definition: string }) {
  const { data, error, isPlaceholderData, refetch } = usePreview(definition, { reach: true });
  const { reach } = data?.data ?? {};
  return (
    <>
      <h3>{m.reach}</h3>
      {error === null ? null : <Failed error={error} retry={() => void refetch()} />}
      {reach === undefined || isPlaceholderData ? (
        error === null ? (
          <Loading what={m.reachLoading} />
        ) : null
      ) : (
        <>
          <Table
            label={m.reach}
            wraps
            head={[m.channel, m.reachable, m.why]}
            rows={reach.map(({ channel, sampled, reachable, by_code }) => ({
              key: channel,
              cells: [
                t.names.channels[channel],
                sampled === 0
                  ? formatInt(0)
                  : `${formatInt(reachable)} (${formatPercent(reachable / sampled)})`,
                Object.entries(by_code)
                  .sort(([, a], [, b]) => b - a)
                  .slice(0, MOST_CODES)
                  .map(([code, count]) => m.whyOne(wordsOf(code), formatInt(count)))
                  .join('; ') || '—',
              ],
            }))}
          />
          <p className={css['soft']}>{m.sampled(reach[0]?.sampled ?? 0)}</p>
        </>
      )}
    </>
  );
}

/** Players of the sample open in a window of their own: the builder stays. */
function Sample({ player_ids }: { player_ids: readonly string[] }) {
  if (player_ids.length === 0) return <p>{m.noSample}</p>;
  return (
    <details>
      <summary>{m.sample}</summary>
      <ul className={css['sample']}>
        {player_ids.map((id) => (
          <li key={id}>
            <Link to="/players/$id" params={{ id }} target="_blank">
              <code>{id}</code>
            </Link>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The definition as JSON next to the tree; undefined: a part of it is text that is not JSON. */
export function Json({
  text,
  disabled,
  onEdit,
}: {
  text: string | undefined;
  disabled: boolean;
  onEdit: () => void;
}) {
  return (
    <section className={css['panel']} aria-label={m.jsonTitle}>
      <div className={css['head']}>
        <h2>{m.jsonTitle}</h2>
        <Button kind="quiet" onClick={onEdit} disabled={disabled || text === undefined}>
          {m.editJson}
        </Button>
      </div>
      <pre className={css['json']} tabIndex={0} role="group" aria-label={m.jsonTitle}>
        {text ?? t.segments.build.notJson}
      </pre>
    </section>
  );
}
