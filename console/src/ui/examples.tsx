import type { ApiError } from '@player-engagement/client/admin';
import type { Example } from '../format/example.ts';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import css from './examples.module.css';
import { Failed } from './states.tsx';

/** Examples that are made as drafts by a click, so that nobody begins with an empty form. */
export function Examples<Body>({
  examples,
  busy,
  error,
  make,
  onMade,
}: {
  examples: readonly Example<Body>[];
  busy: boolean;
  /** Why the last one was not made. */
  error: ApiError | null;
  make: (body: Body) => Promise<{ data: { id: string } }>;
  onMade: (id: string) => void;
}) {
  const use = (body: Body) =>
    // The list is not empty then, and this part of it is gone.
    void make(body).then(
      ({ data }) => onMade(data.id),
      // Shown below.
      () => undefined,
    );
  return (
    <section className={css['examples']} aria-label={t.examples.title}>
      <h3>{t.examples.title}</h3>
      <ul>
        {examples.map(({ title, text, body }) => (
          <li key={title}>
            <strong>{title}</strong>
            <p>{text}</p>
            <Button disabled={busy} onClick={() => use(body)} aria-label={t.examples.useOf(title)}>
              {t.examples.use}
            </Button>
          </li>
        ))}
      </ul>
      {error === null ? null : <Failed error={error} />}
    </section>
  );
}
