import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { useChange } from '../../api/queries.ts';
import { atPaths, textsOf, valuesOf, type Texts } from '../../format/record-texts.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { AuditTab } from '../../ui/audit.tsx';
import { Button } from '../../ui/button.tsx';
import { SaveFailure } from '../../ui/conflict.tsx';
import { Id } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Buttons } from '../../ui/form.tsx';
import { Answered } from '../../ui/states.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { RotateSecret } from './adapter-dialogs.tsx';
import { FIELDS, patchOf, TOKEN } from './adapter-fields.ts';
import { AdapterForm } from './adapter-form.tsx';
import { useAdapter, type Adapter } from './queries.ts';
import { SandboxBonuses } from './sandbox-bonuses.tsx';

const m = t.developers.adapter;
/** No field is an amount. */
const scaleOf = () => undefined;

/** One adapter: its settings, its secret, and what it was given when it is a sandbox. */
export function AdapterPage({ id, onBack }: { id: string; onBack: () => void }) {
  return (
    <>
      <Buttons>
        <Button onClick={onBack}>{m.all}</Button>
      </Buttons>
      <Answered asked={useAdapter(id)} what={m.one}>
        {({ data, etag }) => (
          <>
            <Editor adapter={data} etag={etag} />
            <h2>{t.audit.title}</h2>
            <AuditTab type="adapter" id={id} />
            {data.kind === 'sandbox' ? (
              <>
                <h2>{m.bonuses}</h2>
                <SandboxBonuses id={id} />
              </>
            ) : null}
          </>
        )}
      </Answered>
    </>
  );
}

function Editor({ adapter, etag }: { adapter: Adapter; etag: string | undefined }) {
  const { id, slug, kind, auth } = adapter;
  const [rotates, setRotates] = useState(false);
  const save = useChange('adapters.update');
  const { draft, changes, dirty, ...typed } = useDraft<Texts>(textsOf(adapter, FIELDS, scaleOf), etag);
  const { values, issues } = valuesOf(draft, FIELDS, { scaleOf, complaints: t.bonuses.complaints });
  const submit = async (over = typed.etag) => {
    const body = patchOf(changes, values);
    const answer = await save.mutateAsync({ inputs: [id, body], if_match: over }).catch(() => undefined);
    if (answer !== undefined) typed.reset();
  };
  return (
    <>
      <UnsavedGuard dirty={dirty} leaves={({ search }) => search['adapter'] !== id} />
      <h2>
        <code>{slug}</code>
      </h2>
      <Facts
        label={m.one}
        facts={[
          [m.kind, m.kindNames[kind]],
          [m.webhookPath, <code key="path">{`/v1/adapters/${slug}/webhooks/…`}</code>],
          [m.changed, <Time key="changed" at={adapter.updated_at} />],
          [m.id, <Id key="id" value={id} what={m.id} />],
        ]}
      />
      <SaveFailure
        save={save}
        forget={typed.reset}
        changes={shownChanges(changes, values)}
        onMine={(newer) => void submit(newer)}
      />
      <AdapterForm
        form={{
          texts: draft,
          issues: [...issues, ...(save.error?.issues ?? [])],
          change: typed.change,
        }}
        kind={kind}
        has_token={auth.type === 'bearer'}
        disabled={save.isPending}
      />
      <Buttons>
        <Button
          kind="primary"
          disabled={!dirty || save.isPending || issues.length > 0}
          onClick={() => void submit()}
        >
          {t.form.save}
        </Button>
        <Button kind="danger" onClick={() => setRotates(true)}>
          {m.rotate}
        </Button>
      </Buttons>
      {rotates ? <RotateSecret of={adapter} onClose={() => setRotates(false)} /> : null}
    </>
  );
}

/** What was typed, by field; of a token only that there is one. */
function shownChanges(changes: Texts, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown = atPaths(values, Object.keys(changes));
  return TOKEN in changes ? { ...shown, [TOKEN]: m.newToken } : shown;
}
