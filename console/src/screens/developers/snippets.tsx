import { Link } from '@tanstack/react-router';
import { useApiDocument } from '../../api/document.ts';
import { operationsOf } from '../../api/document-shapes.ts';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { t } from '../../messages/t.ts';
import { Facts } from '../../ui/facts.tsx';
import { Answered } from '../../ui/states.tsx';
import { Block } from './block.tsx';
import css from './developers.module.css';
import { curlSnippets, sdkSnippets } from './snippet-texts.ts';

const m = t.developers;

/** Calls to copy, with the addresses of this service. */
export function Snippets() {
  const document = useApiDocument();
  const { tenant_id, project_id, role } = usePlace();
  return (
    <Answered asked={document} what={m.tabs.snippets}>
      {(found) => {
        const base_url = location.origin;
        const named = operationsOf(found).find((one) => one.ingest_url !== undefined)?.ingest_url;
        const ingest_url = named?.replace('//localhost', () => `//${location.hostname}`) ?? base_url;
        const at = { base_url, ingest_url, tenant_id, project_id };
        return (
          <div className={css['parts']}>
            <Facts
              label={m.addresses}
              facts={[
                [m.baseUrl, <code key="base">{base_url}</code>],
                [m.ingestUrl, <code key="ingest">{ingest_url}</code>],
                [m.tenantId, <code key="tenant">{tenant_id}</code>],
                [m.projectId, <code key="project">{project_id}</code>],
              ]}
            />
            <p className={css['soft']}>{m.ingestHint}</p>
            <p>
              {m.placeOfKey}{' '}
              {roleAllows(role, 'admin') ? (
                <Link to="/developers" search={(before) => ({ project: before.project, tab: 'keys' })}>
                  {m.tabs.keys}
                </Link>
              ) : (
                m.askForKey
              )}
            </p>
            {[...curlSnippets(at), ...sdkSnippets(at)].map(({ key, text }) => (
              <section key={key}>
                <h2>{m.snippets[key]}</h2>
                <Block label={m.snippets[key]} text={text} />
              </section>
            ))}
          </div>
        );
      }}
    </Answered>
  );
}
