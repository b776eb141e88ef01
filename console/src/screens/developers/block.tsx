import { Copy } from '../../ui/copy.tsx';
import css from './developers.module.css';

/** A text to copy; it scrolls sideways where it is wider than the page. */
export function Block({ label, text }: { label: string; text: string }) {
  return (
    <div className={css['block']}>
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <Copy text={text} what={label} />
    </div>
  );
}
