import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { UsedBy } from './about.tsx';
import { useReferences, type TemplateRecord } from './queries.ts';

const m = t.templates;

/** Deletes the template; shows first what uses it. */
export function Remove({
  template,
  onClose,
  onDone,
}: {
  template: TemplateRecord;
  onClose: () => void;
  onDone: () => void;
}) {
  const remove = useChange('templates.delete');
  const used = useReferences(template.id).data?.data;
  const users = (used?.campaigns.length ?? 0) + (used?.journeys.length ?? 0);
  return (
    <Confirm
      title={m.removeTitle(template.name.slice(0, 100))}
      verb={m.removeVerb}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ inputs: [template.id] }, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{m.removeText}</p>
      {users === 0 ? null : <p>{m.removeUsers(users)}</p>}
      <UsedBy id={template.id} />
    </Confirm>
  );
}
