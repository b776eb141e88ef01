import { t } from '../../messages/t.ts';
import { Row } from '../../ui/form.tsx';
import { Check, Json, OneOf, Text, Whole } from './fields.tsx';
import { isObject, textOf, type Written } from './graph.ts';

const m = t.journeys.edit;

export interface NodeFormProps {
  node: Written;
  /** Keys with undefined are omitted. */
  onSet: (change: Written) => void;
}

/** What happens to a run whose step fails. */
export const ON_ERROR = [
  ['fail', m.onErrors.fail],
  ['continue', m.onErrors.continue],
] as const;

/** Whom to call, with what, and how often. */
export function WebhookForm({ node, onSet }: NodeFormProps) {
  const { url, headers, data, timeout_ms, retry, on_error, wait_for_response, save_as } = node;
  const attempts = isObject(retry) ? retry : {};
  const setRetry = (key: string, value: unknown) => {
    const next = { ...attempts, [key]: value };
    const given = Object.fromEntries(Object.entries(next).filter(([, one]) => one !== undefined));
    onSet({ retry: Object.keys(given).length === 0 ? undefined : given });
  };
  return (
    <>
      <Text required label={m.url} value={url} onValue={(next) => onSet({ url: next })} />
      <Row>
        <Json
          label={m.headers}
          hint={m.headersHint}
          value={headers}
          onValue={(next) => onSet({ headers: next })}
        />
        <Json label={m.data} hint={m.dataHint} value={data} onValue={(next) => onSet({ data: next })} />
      </Row>
      <Row>
        <Whole
          label={m.timeoutMs}
          hint={m.byDefault('10000')}
          value={timeout_ms}
          onValue={(next) => onSet({ timeout_ms: next })}
        />
        <Whole
          label={m.attempts}
          hint={m.byDefault('5')}
          value={attempts['max_attempts']}
          onValue={(next) => setRetry('max_attempts', next)}
        />
        <Whole
          label={m.backoff}
          hint={m.byDefault('1000')}
          value={attempts['backoff_ms']}
          onValue={(next) => setRetry('backoff_ms', next)}
        />
      </Row>
      <Row>
        <OneOf
          label={m.onError}
          value={textOf(on_error) || 'continue'}
          choices={ON_ERROR}
          onChoose={(next) => onSet({ on_error: next })}
        />
        <Text
          label={m.saveAs}
          hint={m.saveAsHint}
          value={save_as}
          onValue={(next) => onSet({ save_as: next })}
        />
      </Row>
      <Check
        label={m.waitForResponse}
        value={wait_for_response !== false}
        onValue={(waits) => onSet({ wait_for_response: waits ? undefined : false })}
      />
    </>
  );
}
