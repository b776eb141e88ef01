import { t } from '../messages/t.ts';
import { Dialog } from '../ui/dialog.tsx';
import css from './help.module.css';
import { SCREENS } from './screens.ts';

/** The list of keys. */
export function Help({ onClose }: { onClose: () => void }) {
  const screens = SCREENS.map(({ letter, name }) => [t.help.screen(letter), name] as const);
  return (
    <Dialog title={t.help.title} onClose={onClose}>
      <dl className={css['keys']}>
        {[...t.help.rows, ...screens].map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p>{t.help.note}</p>
    </Dialog>
  );
}
