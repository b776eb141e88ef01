/** Why a step of a journey or a call of a webhook has failed. */
export const stepCodes: Readonly<Record<string, string>> = {
  JOURNEY_STEP_ERROR: 'The step failed with an error of the service',
  JOURNEY_STUCK: 'The run did not go on',
  JOURNEY_RUN_TOO_OLD: 'The run has lasted for two years',
  WEBHOOK_SECRET_MISSING: 'The project has no webhook secret',
  WEBHOOK_SECRET_UNREADABLE: 'The webhook secret could not be decrypted',
  WEBHOOK_REQUEST_INVALID: 'The request could not be built from the data of the run',
  WEBHOOK_HTTP_ERROR: 'The endpoint answered with an error',
  WEBHOOK_BODY_TOO_LARGE: 'The request or the answer was too large',
  WEBHOOK_TIMEOUT: 'The endpoint did not answer in time',
  WEBHOOK_REDIRECTED: 'The endpoint answered with a redirect, which is not followed',
  WEBHOOK_EXPIRED: 'The call is a week old',
  WEBHOOK_CONNECTION_FAILED: 'There was no connection to the endpoint',
  EGRESS_REFUSED: 'The host has an address that is not public',
};

/** Why a message was or would be skipped, or has failed, in plain words. */
export const codes: Readonly<Record<string, string>> = {
  SKIPPED_SELF_EXCLUDED: 'Excluded themselves from gambling, with this or another profile',
  SKIPPED_BANNED: 'Banned by you, with this or another profile',
  SKIPPED_COOLDOWN: 'In a cool-down that they asked for, with this or another profile',
  SKIPPED_AT_RISK: 'At risk: the licence forbids messages on bonuses',
  SKIPPED_NO_RECIPIENT: 'No address for this channel',
  SKIPPED_SUPPRESSED: 'Unsubscribed, or the address bounced before',
  SKIPPED_NO_CONSENT: 'No consent to this channel',
  SKIPPED_FREQUENCY_CAP: 'Got as many messages as the cap allows',
  SKIPPED_QUIET_HOURS: 'It is their quiet hours',
  SKIPPED_GLOBAL_HOLDOUT: 'Held out by the project, to measure its effect',
  SKIPPED_HOLDOUT: 'Held out, to measure the effect',
  SKIPPED_TEMPLATE_MISSING: 'The template was missing or deleted',
  SKIPPED_CANCELLED: 'The campaign was cancelled before',
  PROVIDER_UNAVAILABLE: 'The provider could not be reached in time',
  PROVIDER_REJECTED: 'The provider refused the message',
  PROVIDER_NOT_CONFIGURED: 'There was no active provider',
  TEMPLATE_FAILED: 'The template could not be rendered for them',
  OUTCOME_UNKNOWN: 'The provider did not say whether it sent it',
  DELIVERY_FAILED: 'The provider could not deliver it',
};
