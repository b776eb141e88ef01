import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useChange, useSave, type SaveOf } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { AuditTab } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { SaveFailure } from '../../ui/conflict.tsx';
import { Page } from '../../ui/page.tsx';
import { SendTest } from '../../ui/send-test.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { UsedBy } from './about.tsx';
import { Remove } from './dialogs.tsx';
import { bodyOf, creationOf, draftOf, isShownAtFields, NEW } from './draft.ts';
import { Edit } from './edit.tsx';
import { Preview } from './preview.tsx';
import { useTemplate, type TemplateRecord } from './queries.ts';

const route = getRouteApi('/templates/$id');
const m = t.templates;
const TABS = ['edit', 'preview', 'usedBy', 'audit'] as const;

/** One template, or a new one. */
export function Template() {
  const { id } = route.useParams();
  const is_new = id === 'new';
  const template = useTemplate(id, !is_new);
  // Another template is another page: what was typed for one does not show up in another.
  if (is_new) return <Editor key="new" />;
  return (
    <Answered asked={template} what={m.one}>
      {({ data, etag }) => <Editor key={id} template={data} etag={etag} />}
    </Answered>
  );
}

/** Makes a draft with the same text, and opens it. */
function Duplicate({ template }: { template: TemplateRecord }) {
  const navigate = useNavigate();
  const create = useChange('templates.create');
  const copy = () => {
    const { name, ...rest } = draftOf(template);
    const body = creationOf({ ...rest, name: t.form.copyOf(name), status: 'draft' });
    create.mutate(
      { inputs: [body] },
      { onSuccess: ({ data }) => void navigate({ to: '/templates/$id', params: { id: data.id } }) },
    );
  };
  return (
    <>
      <Button onClick={copy} disabled={create.isPending}>
        {t.form.duplicate}
      </Button>
      {create.error === null ? null : <Failed error={create.error} />}
    </>
  );
}

function Editor({ template, etag }: { template?: TemplateRecord; etag?: string | undefined }) {
  const { tab, player } = route.useSearch();
  const { role } = usePlace();
  const may_edit = useMayEdit();
  const navigate = useNavigate();
  const save = useSave('templates.create', 'templates.update');
  const [open, setOpen] = useState<'test' | 'remove'>();
  const { draft, changes, dirty, ...typed } = useDraft(
    template === undefined ? NEW : draftOf(template),
    etag,
  );
  const shown = TABS.find((one) => one === tab) ?? 'edit';
  const is_new = template === undefined;
  const submit = async (over = typed.etag) => {
    const request: SaveOf<typeof save> = is_new
      ? { create: [creationOf(draft)] }
      : { update: [template.id, bodyOf(changes, draft.channel)], if_match: over };
    const answer = await save.mutateAsync(request).catch(() => undefined);
    if (answer === undefined) return;
    typed.reset();
    if (!is_new) return;
    void navigate({
      to: '/templates/$id',
      params: { id: answer.data.id },
      replace: true,
      ignoreBlocker: true,
    });
  };
  const edit = (
    <>
      {isShownAtFields(save.error) ? (
        <p>
          <Badge tone="bad">{m.faulty}</Badge>
        </p>
      ) : (
        <SaveFailure
          save={save}
          forget={typed.reset}
          changes={changes}
          onMine={(newer) => void submit(newer)}
        />
      )}
      <Edit
        draft={draft}
        is_new={is_new}
        disabled={!may_edit || save.isPending}
        error={save.error}
        onChange={typed.change}
      />
    </>
  );
  return (
    <Page
      title={is_new ? m.new : template.name.slice(0, 200)}
      actions={
        may_edit ? (
          <>
            {is_new ? null : (
              <>
                <Button onClick={() => setOpen('test')}>{m.test}</Button>
                <Duplicate template={template} />
                <Button kind="danger" onClick={() => setOpen('remove')}>
                  {m.remove}
                </Button>
              </>
            )}
            <Button
              kind="primary"
              onClick={() => void submit()}
              disabled={save.isPending || (!is_new && !dirty)}
            >
              {is_new ? m.create : t.form.save}
            </Button>
          </>
        ) : (
          <Badge>{t.form.viewer(role)}</Badge>
        )
      }
    >
      <UnsavedGuard dirty={dirty} />
      {is_new ? (
        edit
      ) : (
        <Tabs
          label={m.one}
          current={shown}
          tabs={TABS.map((key) => ({ key, title: m.tabs[key] }))}
          link={(key, props) => (
            <Link
              {...props}
              to="/templates/$id"
              params={{ id: template.id }}
              search={(before) => ({ ...before, tab: key })}
            />
          )}
        >
          {shown === 'edit' ? edit : null}
          {shown === 'preview' ? <Preview template={template} dirty={dirty} /> : null}
          {shown === 'usedBy' ? <UsedBy id={template.id} /> : null}
          {shown === 'audit' ? <AuditTab type="template" id={template.id} /> : null}
        </Tabs>
      )}
      {open === 'test' && !is_new ? (
        <SendTest template={template} player={player} onClose={() => setOpen(undefined)} />
      ) : null}
      {open === 'remove' && !is_new ? (
        <Remove
          template={template}
          onClose={() => setOpen(undefined)}
          onDone={() => void navigate({ to: '/templates', ignoreBlocker: true })}
        />
      ) : null}
    </Page>
  );
}
