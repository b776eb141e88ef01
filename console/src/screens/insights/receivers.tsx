import type { NoticeReceiver } from '@player-engagement/client/admin';
import { useSession } from '../../api/session.ts';
import type { Texts, TextIssue } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Row } from '../../ui/form.tsx';
import { Input, optionsOf, Select } from '../../ui/record-field.tsx';
import css from './insights.module.css';

const m = t.reports.receivers;
const MOST = 10;

/** Who gets what is sent: members by mail, and systems by webhook. */
export function Receivers({
  receivers,
  issues,
  onReceivers,
}: {
  receivers: readonly NoticeReceiver[];
  issues: readonly TextIssue[];
  onReceivers: (receivers: readonly NoticeReceiver[]) => void;
}) {
  const { user_id } = useSession();
  const mail = (): NoticeReceiver => ({ kind: 'email', user_id, address: '' });
  const fresh = (kind: string | undefined): NoticeReceiver =>
    kind === 'webhook' ? { kind, url: '' } : mail();
  return (
    <section className={css['part']} aria-label={m.title}>
      <h2>{m.title}</h2>
      {receivers.map((receiver, i) => {
        const at = `receivers.${i}`;
        const change = (texts: Texts) => {
          const [path, text = ''] = Object.entries(texts)[0] ?? ['', ''];
          const field = path.slice(at.length + 1);
          const next = field === 'kind' ? fresh(text) : { ...receiver, [field]: text };
          onReceivers(receivers.with(i, next));
        };
        const texts = Object.fromEntries(
          Object.entries(receiver).map(([field, text]) => [`${at}.${field}`, text]),
        );
        const form = { texts, issues, change };
        return (
          <Row key={i}>
            <Select form={form} path={`${at}.kind`} label={m.kind(i + 1)} options={optionsOf(m.kinds)} />
            {receiver.kind === 'email' ? (
              <>
                <Input
                  form={form}
                  path={`${at}.user_id`}
                  label={m.member(i + 1)}
                  hint={m.memberHint}
                  max={255}
                />
                <Input form={form} path={`${at}.address`} label={m.address(i + 1)} max={320} />
              </>
            ) : (
              <Input form={form} path={`${at}.url`} label={m.url(i + 1)} hint={m.urlHint} max={2_000} />
            )}
            {receivers.length === 1 ? null : (
              <Button
                kind="quiet"
                aria-label={m.remove(i + 1)}
                onClick={() => onReceivers(receivers.filter((_, place) => place !== i))}
              >
                ✕
              </Button>
            )}
          </Row>
        );
      })}
      {receivers.length >= MOST ? null : (
        <div>
          <Button onClick={() => onReceivers([...receivers, mail()])}>{m.add}</Button>
        </div>
      )}
    </section>
  );
}
