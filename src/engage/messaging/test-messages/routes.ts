import { endpoint, type AnyEndpoint } from '../../../http/endpoint.ts';
import { envelope } from '../../../http/envelope.ts';
import { refOf } from '../../../http/record.ts';
import { TEMPLATE } from '../../templates/read.ts';
import { sendTestBody, sendTestResult } from './schema.ts';
import { sendTest, type SendTestDeps } from './send-test.ts';

/** A template sent to one address (spec part 4, "Templates"). */
export function testMessageEndpoints(deps: SendTestDeps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/templates/:id/send-test',
      load: 'elsewhere',
      summary: 'Sends the template to one address, without caps and quiet hours',
      audit: { resource: 'template', action: 'send_test' },
      access: { mode: 'session', role: 'editor', scope: 'project' },
      body: sendTestBody,
      response: sendTestResult,
      errors: ['TEMPLATE_NOT_FOUND', 'TEMPLATE_NOT_ACTIVE', 'PLAYER_NOT_FOUND', 'PROVIDER_NOT_CONFIGURED'],
      handle: async ({ caller, params, body, audit }) =>
        envelope(await sendTest({ ...deps, audit }, refOf(TEMPLATE, caller, params['id']), body)),
    }),
  ];
}
