import { t } from '../messages/t.ts';
import { Dialog } from '../ui/dialog.tsx';
import css from './help.module.css';

/** The list of keys. */
export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t.help.title} onClose={onClose}>
      <dl className={css['keys']}>
        {t.help.rows.map(([keys, what]) => (
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
