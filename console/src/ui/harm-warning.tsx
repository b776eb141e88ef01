import { t } from '../messages/t.ts';
import { Badge } from './badge.tsx';
import css from './harm-warning.module.css';

/** Says that players are selected by a sign of harm. */
export function HarmWarning({ code, message }: { code: string; message: string }) {
  return (
    <p className={css['harm']}>
      <Badge tone="warn">{t.segments.build.harm[code] ?? code}</Badge> {message}
    </p>
  );
}
