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
  onUse,
}: {
  examples: readonly Example<Body>[];
  busy: boolean;
  error: ApiError | null;
  onUse: (body: Body) => void;
}) {
  return (
    <section className={css['examples']} aria-label={t.examples.title}>
      <h3>{t.examples.title}</h3>
      <ul>
        {examples.map(({ title, text, body }) => (
          <li key={title}>
            <strong>{title}</strong>
            <p>{text}</p>
            <Button disabled={busy} onClick={() => onUse(body)} aria-label={t.examples.useOf(title)}>
              {t.examples.use}
            </Button>
          </li>
        ))}
      </ul>
      {error === null ? null : <Failed error={error} />}
    </section>
  );
}
