// Generated from /openapi.json by `npm run generate-client`; do not edit.
import type { CallOptions, Page } from '../call.ts';
import type * as S from './schemas.ts';

/** The operations of the service. */
export interface Client {
/**
 * Whether the process runs.
 *
 * No credential.
 *
 * `GET /healthz`
 *
 * Errors: 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR.
 */
healthz(options?: CallOptions): Promise<{ "status": "ok"; }>;
/**
 * Whether the process has started, is not stopping, and the storage engines that it needs answer.
 *
 * No credential.
 *
 * `GET /readyz`
 *
 * Errors: 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
readyz(options?: CallOptions): Promise<Record<string, "ok">>;
/**
 * Metrics of this process, for Prometheus.
 *
 * No credential.
 *
 * `GET /metrics`
 *
 * Errors: 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR.
 */
metrics(options?: CallOptions): Promise<string>;
internal: {
/**
 * Creates a tenant with a project, the default currencies and an owner.
 *
 * Internal secret.
 *
 * `POST /v1/internal/tenants`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
tenants(body: S.CreateTenantBody, options?: CallOptions): Promise<{ "tenant_id": string; "project_id": string; }>;
/**
 * Creates one more project of a tenant.
 *
 * Internal secret.
 *
 * `POST /v1/internal/projects`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 404 TENANT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
projects(body: S.CreateProjectBody, options?: CallOptions): Promise<{ "project_id": string; }>;
memberships: {
/**
 * Adds a member to a tenant, or changes a member's role.
 *
 * Internal secret.
 *
 * `POST /v1/internal/memberships`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 404 TENANT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.MembershipBody, options?: CallOptions): Promise<S.MembershipBody>;
/**
 * Ends a membership, except that of the last owner: sessions of the user lose access to the tenant.
 *
 * Internal secret.
 *
 * `DELETE /v1/internal/memberships`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 404 TENANT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(query: { tenant_id: string; /** The `sub` of the user’s session tokens */ user_id: string; }, options?: CallOptions): Promise<S.RemovedMembership>;
};
/**
 * Signs a session that lasts 30 days (development only).
 *
 * Internal secret.
 *
 * `POST /v1/internal/dev-sessions`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
devSessions(body: S.DevSessionBody, options?: CallOptions): Promise<{ "session_token": string; }>;
/**
 * Creates a token for one sign-in to the console within a day (development only).
 *
 * Internal secret.
 *
 * `POST /v1/internal/dev-sign-ins`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
devSignIns(body: S.DevSessionBody, options?: CallOptions): Promise<{ /** Open `/console/#sign-in=<sign_in_token>` of the base API */ "sign_in_token": string; }>;
/**
 * Computes the tier of a player by the rules.
 *
 * Internal secret.
 *
 * `POST /v1/internal/recompute-tier`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 404 PLAYER_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
recomputeTier(body: S.RecomputeTierBody, options?: CallOptions): Promise<S.TierChange>;
/**
 * Evaluates players again in the realtime segments that read one of `events`, or in all.
 *
 * Internal secret.
 *
 * `POST /v1/internal/recompute-player-segments`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
recomputePlayerSegments(body: S.RecomputeSegmentsBody, options?: CallOptions): Promise<S.RecomputeSegmentsResult>;
/**
 * Decides about one member of a bonus campaign; a repetition returns the outcome.
 *
 * Internal secret.
 *
 * `POST /v1/internal/bonus-grant`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 404 BONUS_CAMPAIGN_NOT_FOUND, PLAYER_NOT_FOUND, BONUS_TEMPLATE_NOT_FOUND; 409 BONUS_CAMPAIGN_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 BONUS_TEMPLATE_NOT_ACTIVE, BONUS_CONFIG_INVALID, VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 ADAPTER_UNAVAILABLE, SERVICE_UNAVAILABLE.
 */
bonusGrant(body: S.InternalGrantBody, options?: CallOptions): Promise<S.InternalGrantResult>;
/**
 * Counts bets towards the bonuses of their players; a known state changes nothing.
 *
 * Internal secret.
 *
 * `POST /v1/internal/bonus-progress`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
bonusProgress(body: S.BonusProgressBody, options?: CallOptions): Promise<S.BonusProgressResult>;
/**
 * Encrypts with CREDENTIALS_KEY what another key encrypted, so that CREDENTIALS_KEY_PREVIOUS can be removed.
 *
 * Internal secret.
 *
 * `POST /v1/internal/reencrypt-credentials`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
reencryptCredentials(options?: CallOptions): Promise<{ "reencrypted": number; "unreadable": number; "unreadable_provider_ids": Array<string>; }>;
/**
 * Fetches exchange rates from their providers now.
 *
 * Internal secret.
 *
 * `POST /v1/internal/fx-fetch`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 404 TENANT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
fxFetch(body?: S.FetchRatesBody, options?: CallOptions): Promise<S.FetchRatesReport>;
/**
 * Stores manual rates of a tenant, with a verdict for each; events since their times are restated.
 *
 * Internal secret.
 *
 * `POST /v1/internal/fx-rates`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 404 TENANT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
fxRates(body: S.ImportRatesBody, options?: CallOptions): Promise<S.ImportRatesReport>;
/**
 * Recomputes every total from the ledger and compares every table of ClickHouse with its source.
 *
 * Internal secret.
 *
 * `POST /v1/internal/reconcile`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
reconcile(body?: S.ReconcileBody, options?: CallOptions): Promise<S.ReconcileReport>;
tableExport: {
/**
 * How many rows an export of a table has, and in how many files they should be read.
 *
 * Internal secret.
 *
 * `GET /v1/internal/table-export`
 *
 * Errors: 401 UNAUTHORIZED; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(query: { tenant_id: string; project_id: string; table: "events" | "message_sends" | "players" | "segment_members"; /** Rows of this time or later */ from?: string | undefined; /** Rows before this time, at most a day after `from` */ to?: string | undefined; }, options?: CallOptions): Promise<S.ExportSize>;
/**
 * Reads rows of a table of ClickHouse as a Parquet file, without players who were erased.
 *
 * Internal secret.
 *
 * `POST /v1/internal/table-export`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.ExportFileBody, options?: CallOptions): Promise<string>;
};
/**
 * Compares live bonus grants with their platforms, and applies the ends that no webhook has reported.
 *
 * Internal secret.
 *
 * `POST /v1/internal/bonus-reconcile`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
bonusReconcile(body?: S.BonusReconcileBody, options?: CallOptions): Promise<S.BonusReconcileReport>;
deadLetters: {
/**
 * Events that could not be folded, the oldest first, with the reason.
 *
 * Internal secret.
 *
 * `GET /v1/internal/dead-letters`
 *
 * Errors: 401 UNAUTHORIZED; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { limit?: number | undefined; /** The `next_cursor` of the page before */ after?: string | undefined; reason?: "MALFORMED_RECORD" | "UNKNOWN_PLAYER" | "CONFLICTING_DUPLICATE" | "DUPLICATE_DIFFERS" | "AMOUNT_OUT_OF_RANGE" | "POISON_RECORD" | undefined; }, options?: CallOptions): Promise<Page<S.DeadLetter>>;
/**
 * Sends dead letters through the fold again, each once unless forced.
 *
 * Internal secret.
 *
 * `POST /v1/internal/dead-letters/replay`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
replay(body: S.ReplayBody, options?: CallOptions): Promise<S.ReplayReport>;
};
};
/**
 * The user of the session, with their role and the projects in each tenant.
 *
 * Admin session of any user; X-Tenant-Id is not read.
 *
 * `GET /v1/session`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
session(options?: CallOptions): Promise<S.Session>;
projects: {
/**
 * Lists the projects of the tenant, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/projects`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.Project>>;
apiKeys: {
/**
 * Lists the API keys of a project, the newest first; status=revoked lists revoked keys.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/projects/{projectId}/api-keys`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(projectId: string, query?: { cursor?: string | undefined; limit?: number | undefined; status?: "active" | "revoked" | undefined; }, options?: CallOptions): Promise<Page<S.ApiKey>>;
/**
 * Creates an API key; only this response shows it.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/projects/{projectId}/api-keys`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(projectId: string, body: S.CreateApiKeyBody, options?: CallOptions): Promise<S.CreatedApiKey>;
/**
 * Changes name, allowed origins and end of an API key.
 *
 * Admin session, role admin or above.
 *
 * `PATCH /v1/projects/{projectId}/api-keys/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND, API_KEY_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(projectId: string, id: string, body: S.PatchApiKeyBody, options?: CallOptions): Promise<S.ApiKey>;
/**
 * Revokes an API key; new requests with it fail from now on.
 *
 * Admin session, role admin or above.
 *
 * `DELETE /v1/projects/{projectId}/api-keys/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND, API_KEY_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(projectId: string, id: string, options?: CallOptions): Promise<S.DeletedApiKey>;
};
};
members: {
/**
 * Lists the members of the tenant, the newest first.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/members`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.Member>>;
/**
 * Invites a user, who is a member when they accept; a user of no other operator accepts with their first call. Only owners create owners.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/members`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.MemberBody, options?: CallOptions): Promise<S.Member>;
/**
 * Changes the role of a member; the last owner keeps the role, and only owners change owners.
 *
 * Admin session, role admin or above.
 *
 * `PATCH /v1/members`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(body: S.MemberBody, options?: CallOptions): Promise<S.Member>;
/**
 * Ends a membership, except that of the last owner.
 *
 * Admin session, role admin or above.
 *
 * `DELETE /v1/members`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(query: { /** The `sub` of the user at the identity provider */ user_id: string; }, options?: CallOptions): Promise<S.Member>;
};
invitations: {
/**
 * Lists the invitations of the user, the oldest first.
 *
 * Admin session of any user; X-Tenant-Id is not read.
 *
 * `GET /v1/invitations`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(options?: CallOptions): Promise<S.Invitations>;
/**
 * Accepts an invitation; calls of a member of several tenants must name the tenant.
 *
 * Admin session of any user; X-Tenant-Id is not read.
 *
 * `POST /v1/invitations/{tenant_id}/accept`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
accept(tenant_id: string, options?: CallOptions): Promise<{ "tenant_id": string; "role": "viewer" | "editor" | "admin" | "owner" | "compliance"; "accepted": boolean; }>;
/**
 * Declines an invitation.
 *
 * Admin session of any user; X-Tenant-Id is not read.
 *
 * `DELETE /v1/invitations/{tenant_id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(tenant_id: string, options?: CallOptions): Promise<{ "tenant_id": string; "role": "viewer" | "editor" | "admin" | "owner" | "compliance"; "accepted": boolean; }>;
};
consoleSessions: {
/**
 * Lists the console sessions of the user, for admins also those of members of no other tenant, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/console-sessions`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; /** `members`: of members of no other tenant, too; for admins */ of?: "own" | "members" | undefined; }, options?: CallOptions): Promise<Page<S.ConsoleSession>>;
/**
 * Ends a console session of the user, for admins also of a member of no other tenant.
 *
 * Admin session, role viewer or above.
 *
 * `DELETE /v1/console-sessions/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.EndedConsoleSession>;
};
auditLog: {
/**
 * Lists the changes by sessions and the internal secret in the tenant, the newest first.
 *
 * Admin session, role compliance, admin or owner.
 *
 * `GET /v1/audit-log`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; /** Whose changes */ user_id?: string | undefined; action?: "create" | "update" | "delete" | "revoke" | "send" | "cancel" | "retry_failed" | "send_test" | "replay" | "refresh" | "activate" | "pause" | "publish" | "migrate" | "request" | "approve" | "rotate_secret" | "issue" | "exclude" | "lift" | "resolve" | "reveal" | "erase" | "export" | undefined; resource_type?: "tenant" | "project" | "membership" | "tenant_config" | "api_key" | "player" | "player_kyc" | "vip_tier" | "segment" | "template" | "messaging_provider" | "campaign" | "campaign_variant" | "journey" | "journey_run" | "webhook_secret" | "webhook_delivery" | "event_subscription" | "bonus_grant" | "bonus_campaign" | "adapter" | "dead_letters" | "fx_rates" | "currency" | "suppression" | "console_session" | "bonus_template" | "insight_export" | "insight" | "dashboard" | "alert" | "report" | "global_holdout" | undefined; resource_id?: string | undefined; project_id?: string | undefined; /** Changes at this time or later */ from?: string | undefined; /** Changes before this time */ to?: string | undefined; }, options?: CallOptions): Promise<Page<S.AuditLogEntry>>;
};
suppressions: {
/**
 * Lists the addresses that get no messages, the newest first.
 *
 * Admin session, role editor or above.
 *
 * `GET /v1/suppressions`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; channel?: "email" | "sms" | "push" | undefined; reason?: "bounce" | "complaint" | "unsubscribe" | "manual" | undefined; /** Only this one */ address?: string | undefined; }, options?: CallOptions): Promise<Page<S.Suppression>>;
/**
 * Suppresses an address on a channel: from now on it gets no messages in any project of the tenant.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/suppressions`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateSuppressionBody, options?: CallOptions): Promise<S.Suppression>;
/**
 * Removes a suppression; the consent of players still counts.
 *
 * Admin session, role admin or above.
 *
 * `DELETE /v1/suppressions/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Suppression>;
};
/**
 * Engines, lag, the waiting work of the tenant, its jobs that were given up, and the last reconciliation.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/system`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
system(options?: CallOptions): Promise<S.System>;
tenant: {
config: {
/**
 * The configuration of the tenant, and the catalogue of possible values.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/tenant/config`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(options?: CallOptions): Promise<S.TenantConfig>;
/**
 * Changes the configuration; `config` is merged deeply, arrays are replaced, null removes.
 *
 * Admin session, role admin or above.
 *
 * `PATCH /v1/tenant/config`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(body: S.PatchTenantConfigBody, options?: CallOptions): Promise<S.TenantConfig>;
};
};
/**
 * Describes the API key of the caller.
 *
 * API key.
 *
 * `GET /v1/me`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
me(options?: CallOptions): Promise<S.WhoAmI>;
players: {
/**
 * Finds or creates the player of the given ids, links the ids, and merges traits and players.
 *
 * API key.
 *
 * `POST /v1/players/identify`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 IDENTITY_REQUIRED, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
identify(body: S.IdentifyBody, options?: CallOptions): Promise<S.IdentifyResult>;
/**
 * Finds up to 20 players by an id of any kind, or by its beginning.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/search`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
search(query: { /** An id of any kind; from 3 characters on also the beginning of one */ q: string; }, options?: CallOptions): Promise<Array<S.FoundPlayer>>;
/**
 * Lists players, the last seen first; deleted ones only with status=deleted.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; status?: "active" | "self_excluded" | "banned" | "deleted" | "conflict" | undefined; email?: string | undefined; external_id?: string | undefined; phone?: string | undefined; telegram_id?: string | undefined; }, options?: CallOptions): Promise<Page<S.Player>>;
/**
 * One player, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Player>;
/**
 * Changes profile fields; custom attributes are merged, null removes one.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/players/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchPlayerBody, options?: CallOptions): Promise<S.Player>;
/**
 * Soft delete; a repetition gets the same answer.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/players/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Player>;
/**
 * The email and phone of a player; the audit log records who asked and why.
 *
 * Admin session, role compliance, editor, admin or owner.
 *
 * `POST /v1/players/{id}/reveal`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
reveal(id: string, body?: S.RevealPlayerBody, options?: CallOptions): Promise<S.RevealedPlayer>;
/**
 * Erases the data of a person, in two calls: the second one has the token of the first answer.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/players/{id}/erase`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
erase(id: string, body: S.ErasePlayerBody, options?: CallOptions): Promise<S.ErasureAnswer>;
/**
 * Creates a copy of all data of a person: a zip that is kept for 7 days.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/players/{id}/export`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
export(id: string, options?: CallOptions): Promise<S.PlayerExport>;
exports: {
/**
 * Whether the copy is ready, and which files it has.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/players/{id}/exports/{exportId}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, exportId: string, options?: CallOptions): Promise<S.PlayerExport>;
/**
 * The copy: a zip of NDJSON files; the audit log records who downloaded it.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/players/{id}/exports/{exportId}/file`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
file(id: string, exportId: string, options?: CallOptions): Promise<string>;
};
kyc: {
/**
 * The KYC of a player: all decisions, and what the platform does not know yet.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/kyc`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.KycWithHistory>;
/**
 * Requests the documents of a player: opens a case, and informs the platform.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/players/{id}/kyc/request`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
request(id: string, body?: S.RequestKycBody, options?: CallOptions): Promise<S.Kyc>;
/**
 * Approves a level, and informs the platform.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/players/{id}/kyc/approve`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 409 KYC_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
approve(id: string, body: S.ApproveKycBody, options?: CallOptions): Promise<S.Kyc>;
/**
 * Revokes an approval or refuses a pending case, and informs the platform.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/players/{id}/kyc/revoke`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 409 KYC_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
revoke(id: string, body: S.RevokeKycBody, options?: CallOptions): Promise<S.Kyc>;
};
/**
 * A player's events, or those of some names, the newest first by event time.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/timeline`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
timeline(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; /** Names of events, at most 20, separated by commas; absent: all events */ events?: string | undefined; }, options?: CallOptions): Promise<Page<S.TimelineEntry>>;
/**
 * Confirmed deposits of the last 30 days of the reporting time zone in the base currency, gross; days without are 0.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/deposits-daily`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
depositsDaily(id: string, options?: CallOptions): Promise<Array<S.DepositsOfDay>>;
/**
 * The ledger rows of the money events of a player, the newest first by event time.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/ledger`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
ledger(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.LedgerEntry>>;
/**
 * Changes of a player and of players merged into that player, with their actors, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/audit`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
audit(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.AuditLogEntry>>;
tier: {
/**
 * The tier of a player, with its newest 200 changes, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/tier`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.PlayerTier>;
/**
 * Sets the tier of a player by hand; an empty body computes it by the rules.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/players/{id}/tier`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, VIP_TIER_NOT_FOUND, PROJECT_NOT_FOUND; 409 VIP_TIER_INACTIVE, CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
set(id: string, body?: S.SetTierBody, options?: CallOptions): Promise<S.TierChange>;
};
/**
 * Lists the segments of the player, the last entered first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/segments`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
segments(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.PlayerSegment>>;
/**
 * Evaluates every segment of the project for one player.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/players/{id}/refresh-segments`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
refreshSegments(id: string, options?: CallOptions): Promise<S.PlayerSegmentsRefresh>;
/**
 * Lists the runs of a player in all journeys, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/journeys`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
journeys(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.PlayerJourneyRun>>;
/**
 * Whether a message to the player would be sent now, by channel, and every reason why not.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/reachability`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
reachability(id: string, query?: { /** Of the bonus that the message is about; absent: it is about none */ bonus_product?: "casino" | "betting" | "bingo" | "lottery" | "any" | undefined; }, options?: CallOptions): Promise<Array<S.Reachability>>;
/**
 * The last messages of a player, including skipped ones, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/{id}/messages`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
messages(id: string, query?: { limit?: number | undefined; }, options?: CallOptions): Promise<Array<S.MessageSend>>;
/**
 * What players are called by: external id, masked email and status, of ids that a list shows.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/players/names`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
names(query: { /** Ids of players, at most 100, separated by commas */ ids: string; }, options?: CallOptions): Promise<Array<S.PlayerName>>;
};
erasures: {
/**
 * Lists erasures with actor, reason and progress, the newest first.
 *
 * Admin session, role compliance, admin or owner.
 *
 * `GET /v1/erasures`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; status?: "requested" | "running" | "done" | undefined; player_id?: string | undefined; }, options?: CallOptions): Promise<Page<S.Erasure>>;
};
exports: {
/**
 * Creates a file of figures, or of the players of one (editor; with addresses compliance): kept for 24 hours.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/exports`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.InsightExportBody, options?: CallOptions): Promise<S.InsightExport>;
/**
 * Whether the file is ready.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/exports/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 EXPORT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.InsightExport>;
/**
 * The file, for the roles that may create it; the audit log records who downloaded players.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/exports/{id}/file`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 EXPORT_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
file(id: string, query?: { /** As X-Tenant-Id, for callers that cannot set headers */ tenant_id?: string | undefined; /** As X-Project-Id, for callers that cannot set headers */ project_id?: string | undefined; }, options?: CallOptions): Promise<string>;
};
adapters: {
webhooks: {
/**
 * KYC decisions of a casino platform; 403 when the tenant's kyc_model does not allow it any decision.
 *
 * Signed by the provider, over the request as it is sent; a bad signature is 401.
 *
 * `POST /v1/adapters/{slug}/webhooks/kyc-events`
 *
 * Errors: 400 BODY_MALFORMED; 401 FORBIDDEN; 403 FORBIDDEN; 404 NOT_FOUND, PLAYER_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
kycEvents(slug: string, options?: CallOptions): Promise<{ "received": true; "applied": boolean; "new_status": "none" | "pending" | "approved" | "rejected" | "expired" | "revoked"; "data": S.KycEventAnswer; } | { "applied": false; "replay": true; "data": S.RepeatedEvent; }>;
/**
 * Bonus events of a casino platform; a repeated event_id has no further effect.
 *
 * Signed by the provider, over the request as it is sent; a bad signature is 401.
 *
 * `POST /v1/adapters/{slug}/webhooks/bonus-events`
 *
 * Errors: 400 BODY_MALFORMED; 401 FORBIDDEN; 404 NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
bonusEvents(slug: string, options?: CallOptions): Promise<{ "received": true; "applied": boolean; "new_status": "pending" | "active" | "completed" | "forfeited" | "expired" | "lost" | "cancelled" | "failed"; "data": S.BonusEventAnswer; } | { "applied": false; "replay": true; "data": S.RepeatedEvent; }>;
};
/**
 * Lists the adapters to casino platforms, the newest first.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/adapters`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.Adapter>>;
/**
 * Creates an adapter to a casino platform; only this response shows its secret.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/adapters`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 409 ADAPTER_SLUG_TAKEN, ADAPTER_ALREADY_ACTIVE, CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateAdapterBody, options?: CallOptions): Promise<S.AdapterWithSecret>;
/**
 * One adapter.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/adapters/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 ADAPTER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Adapter>;
/**
 * Changes an adapter; capabilities that are not named are kept, and at most one adapter of a project is active.
 *
 * Admin session, role admin or above.
 *
 * `PATCH /v1/adapters/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 ADAPTER_NOT_FOUND, PROJECT_NOT_FOUND; 409 ADAPTER_ALREADY_ACTIVE; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchAdapterBody, options?: CallOptions): Promise<S.Adapter>;
/**
 * The bonuses that a sandbox received, the newest first; the id `sandbox` names the built-in one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/adapters/{id}/bonuses`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 ADAPTER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
bonuses(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.SandboxBonus>>;
/**
 * Creates a new secret, which signs from now on; the previous one is accepted for 24 more hours.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/adapters/{id}/rotate-secret`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 ADAPTER_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
rotateSecret(id: string, options?: CallOptions): Promise<S.AdapterWithSecret>;
};
vipTiers: {
/**
 * Lists VIP tiers, inactive ones too, the lowest rank first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/vip-tiers`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.Tier>>;
/**
 * Creates a VIP tier; players who already qualify get it in the daily sweep.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/vip-tiers`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 409 VIP_TIER_CODE_TAKEN, VIP_TIER_RANK_TAKEN, CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateTierBody, options?: CallOptions): Promise<S.Tier>;
/**
 * One VIP tier.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/vip-tiers/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 VIP_TIER_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Tier>;
/**
 * Changes a VIP tier; players lose a tier that is not active, and other changes apply in the daily sweep.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/vip-tiers/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 VIP_TIER_NOT_FOUND; 409 VIP_TIER_RANK_TAKEN; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchTierBody, options?: CallOptions): Promise<S.Tier>;
};
tierChanges: {
/**
 * Lists the tier changes of players, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/tier-changes`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; /** Changes at this time or later */ from?: string | undefined; /** Changes before this time */ to?: string | undefined; }, options?: CallOptions): Promise<Page<S.MovedPlayer>>;
};
segments: {
/**
 * Who would have been a member at a time of the past, and what these players did after it.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/segments/backtest`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, SEGMENT_TOO_EXPENSIVE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
backtest(body: S.BacktestSegmentBody, options?: CallOptions): Promise<S.SegmentBacktest>;
/**
 * What a definition can contain: fields, events with their properties, operators and limits.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/segments/fields`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
fields(options?: CallOptions): Promise<S.SegmentVocabulary>;
/**
 * Lists the members of the segment by player id.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/segments/{id}/members`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
members(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.SegmentMember>>;
/**
 * The sizes of the segment at full hours of the last month, and at midnight (UTC) before that.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/segments/{id}/history`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
history(id: string, query?: { days?: number | undefined; }, options?: CallOptions): Promise<Array<S.SegmentSize>>;
/**
 * What uses the segment and is not deleted: up to 100 of each type.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/segments/{id}/references`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
references(id: string, options?: CallOptions): Promise<Array<S.SegmentReference>>;
/**
 * Lists segments that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/segments`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.Segment>>;
/**
 * Creates a segment; realtime and scheduled segments are computed soon after.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/segments`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateSegmentBody, options?: CallOptions): Promise<S.Segment>;
/**
 * One segment, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/segments/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Segment>;
/**
 * Changes a segment; a new definition is computed, unless the strategy is manual.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/segments/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchSegmentBody, options?: CallOptions): Promise<S.Segment>;
/**
 * Soft delete: the segment has no members from now on. Refused while another segment refers to it.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/segments/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Segment>;
/**
 * The size of a definition and some of its players; nothing is saved.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/segments/preview`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, SEGMENT_TOO_EXPENSIVE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
preview(body: S.PreviewSegmentBody, options?: CallOptions): Promise<S.SegmentPreview>;
/**
 * Computes the members of the segment now, after those of the segments it refers to.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/segments/{id}/refresh`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_TOO_EXPENSIVE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
refresh(id: string, options?: CallOptions): Promise<S.SegmentRefresh>;
/**
 * Random members of the segment.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/segments/{id}/sample`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
sample(id: string, query?: { limit?: number | undefined; }, options?: CallOptions): Promise<Array<string>>;
/**
 * Why a player is or is not in the segment, condition by condition.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/segments/{id}/explain`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 SEGMENT_TOO_EXPENSIVE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
explain(id: string, query: { player_id: string; }, options?: CallOptions): Promise<S.SegmentExplanation>;
};
scores: {
/**
 * Writes churn_score and ltv_predicted of players that a model of yours has computed.
 *
 * API key.
 *
 * `POST /v1/scores`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN, KEY_KIND_FORBIDDEN; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.ScoresBody, options?: CallOptions): Promise<Array<S.ScoreResult>>;
};
models: {
/**
 * The service's own models of the project: parameters, and the proof against plain recency or the profile.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/models`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(options?: CallOptions): Promise<Array<S.Model | S.SendTimeModel>>;
};
campaigns: {
/**
 * Lists campaigns that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/campaigns`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; status?: "draft" | "scheduled" | "sending" | "sent" | "cancelled" | undefined; }, options?: CallOptions): Promise<Page<S.Campaign>>;
/**
 * Creates a draft of a campaign; with a time in `schedule_at` it is scheduled.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/campaigns`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateCampaignBody, options?: CallOptions): Promise<S.Campaign>;
/**
 * One campaign, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/campaigns/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Campaign>;
/**
 * Changes a draft or scheduled campaign; `schedule_at` null makes it a draft again.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/campaigns/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 409 CAMPAIGN_INVALID_STATUS; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchCampaignBody, options?: CallOptions): Promise<S.Campaign>;
/**
 * Soft delete of a draft or scheduled campaign.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/campaigns/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 409 CAMPAIGN_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Campaign>;
/**
 * Creates a draft with the audience, the content, the variants and the goal of a campaign.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/campaigns/{id}/duplicate`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
duplicate(id: string, body?: S.DuplicateCampaignBody, options?: CallOptions): Promise<S.Campaign>;
variants: {
/**
 * The variants of a campaign by sort_order; a campaign without variants of its own has `default`.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/campaigns/{id}/variants`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(id: string, options?: CallOptions): Promise<Array<S.Variant>>;
/**
 * Adds a variant to a draft or scheduled campaign; the first one replaces the default variant.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/campaigns/{id}/variants`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 409 CAMPAIGN_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(id: string, body: S.CreateVariantBody, options?: CallOptions): Promise<S.Variant>;
/**
 * Changes a variant before the campaign is sent; later only the weight, for new messages.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/campaigns/{id}/variants/{variantId}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, VARIANT_NOT_FOUND, PROJECT_NOT_FOUND; 409 CAMPAIGN_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, variantId: string, body: S.PatchVariantBody, options?: CallOptions): Promise<S.Variant>;
/**
 * Deletes a variant; after the last one the default variant returns, which cannot be deleted.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/campaigns/{id}/variants/{variantId}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, VARIANT_NOT_FOUND, PROJECT_NOT_FOUND; 409 CAMPAIGN_INVALID_STATUS, CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, variantId: string, options?: CallOptions): Promise<S.Variant>;
};
/**
 * Counts whom the campaign would reach now, and why it would not reach the others; sends nothing.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/campaigns/{id}/audience`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
audience(id: string, body?: S.CampaignAudienceBody, options?: CallOptions): Promise<S.CampaignAudience>;
/**
 * Counts the skipped and failed messages by code.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/campaigns/{id}/failures`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
failures(id: string, options?: CallOptions): Promise<S.CampaignFailures>;
/**
 * The outcomes of the messages over time, by hour or day.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/campaigns/{id}/series`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
series(id: string, query?: { /** Absent: hours, or days for more than three days */ interval?: "hour" | "day" | undefined; }, options?: CallOptions): Promise<S.CampaignSeries>;
/**
 * Sends the campaign to the members of its segment; a large segment continues in the background.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/campaigns/{id}/send`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 409 CAMPAIGN_INVALID_STATUS, IDEMPOTENCY_IN_PROGRESS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 TEMPLATE_NOT_ACTIVE, PROVIDER_NOT_CONFIGURED, VALIDATION_ERROR, IDEMPOTENCY_KEY_REUSED; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
send(id: string, options?: CallOptions): Promise<S.CampaignSendResult>;
/**
 * Queues the messages with PROVIDER_UNAVAILABLE again; the campaign is sending until they are decided.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/campaigns/{id}/retry-failed`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 409 CAMPAIGN_INVALID_STATUS, IDEMPOTENCY_IN_PROGRESS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 PROVIDER_NOT_CONFIGURED, VALIDATION_ERROR, IDEMPOTENCY_KEY_REUSED; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
retryFailed(id: string, options?: CallOptions): Promise<S.CampaignRetryResult>;
/**
 * Cancels the campaign: messages that a provider already has are delivered, all others are skipped.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/campaigns/{id}/cancel`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 409 CAMPAIGN_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
cancel(id: string, options?: CallOptions): Promise<S.Campaign>;
/**
 * Counts the messages by stage; a message counts in every stage that it reached.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/campaigns/{id}/stats`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
stats(id: string, options?: CallOptions): Promise<S.CampaignStats>;
/**
 * The messages of a campaign, including skipped ones, by player.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/campaigns/{id}/recipients`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
recipients(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; status?: "queued" | "sending" | "sent" | "delivered" | "opened" | "clicked" | "bounced" | "failed" | "capped" | "SKIPPED_SELF_EXCLUDED" | "SKIPPED_BANNED" | "SKIPPED_COOLDOWN" | "SKIPPED_AT_RISK" | "SKIPPED_NO_RECIPIENT" | "SKIPPED_SUPPRESSED" | "SKIPPED_NO_CONSENT" | "SKIPPED_FREQUENCY_CAP" | "SKIPPED_QUIET_HOURS" | "SKIPPED_GLOBAL_HOLDOUT" | "SKIPPED_HOLDOUT" | "SKIPPED_TEMPLATE_MISSING" | "SKIPPED_CANCELLED" | "PROVIDER_UNAVAILABLE" | "PROVIDER_REJECTED" | "PROVIDER_NOT_CONFIGURED" | "TEMPLATE_FAILED" | "OUTCOME_UNKNOWN" | "DELIVERY_FAILED" | "SKIPPED_*" | undefined; }, options?: CallOptions): Promise<Page<S.MessageSend>>;
/**
 * Counts per variant the players who got a message, and those of them who converted within the attribution window.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/campaigns/{id}/conversion-stats`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
conversionStats(id: string, options?: CallOptions): Promise<S.ConversionStats>;
/**
 * What it has brought, compared with the players who are held out, and the harm in each arm.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/campaigns/{id}/uplift`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
uplift(id: string, query?: { /** `send_time`: own hours; `held_out` got it at once */ compare?: "holdout" | "send_time" | undefined; }, options?: CallOptions): Promise<S.UpliftReport>;
};
experiments: {
global: {
/**
 * The project's holdout, and what everything that it sends has brought in a round.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/experiments/global`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(query?: { /** The name of a round that is over */ round?: string | undefined; }, options?: CallOptions): Promise<{ /** The share of players who get nothing of campaigns, journeys and bonus campaigns */ "holdout_percent": number; /** While the same players are held out: a quarter in UTC, or the rest of it after a change */ "round": { "name": string; "begins_at": string; "ends_at": string; } | null; /** Those that are over, the newest first */ "rounds": Array<S.HoldoutRound>; /** Null: nobody is held out */ "uplift": S.UpliftReport | null; }>;
/**
 * Sets the share of players whom the project holds out; a change draws other players.
 *
 * Admin session, role admin or above.
 *
 * `PUT /v1/experiments/global`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
set(body: S.GlobalHoldoutBody, options?: CallOptions): Promise<S.GlobalHoldout>;
};
};
/**
 * Sent and planned campaigns, and the planned starts of journeys.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/calendar`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
calendar(query: { /** Entries at this time or later */ from: string; /** Entries before this time; at most 93 days after `from` */ to: string; }, options?: CallOptions): Promise<S.Calendar>;
journeys: {
/**
 * Lists journeys that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/journeys`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; status?: "draft" | "active" | "paused" | undefined; }, options?: CallOptions): Promise<Page<S.ListedJourney>>;
/**
 * Creates a draft of a journey; all faults of its trigger, graph and settings are reported at once.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/journeys`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 JOURNEY_GRAPH_INVALID, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateJourneyBody, options?: CallOptions): Promise<S.Journey>;
/**
 * One journey, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/journeys/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Journey>;
/**
 * Soft delete: no new runs start, and running ones are cancelled soon after.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/journeys/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Journey>;
/**
 * Changes a journey; an active journey publishes the change as its next version for new runs, unless `draft` is true. Parts that are not in the body are those of the live version, and an earlier draft is overwritten.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/journeys/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 JOURNEY_GRAPH_INVALID, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchJourneyBody, options?: CallOptions & { query?: { draft?: "true" | "false" | undefined; } }): Promise<S.Journey>;
/**
 * Activates a draft or paused journey: what was saved last is published, and held runs continue.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/journeys/{id}/activate`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 409 JOURNEY_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 JOURNEY_GRAPH_INVALID, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
activate(id: string, body?: S.ActivateJourneyBody, options?: CallOptions): Promise<S.Journey>;
/**
 * Pauses an active journey: no new runs start; running ones continue, unless `hold` is true.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/journeys/{id}/pause`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 409 JOURNEY_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
pause(id: string, body?: S.PauseJourneyBody, options?: CallOptions): Promise<S.Journey>;
versions: {
/**
 * The versions of a journey, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/journeys/{id}/versions`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.ListedJourneyVersion>>;
/**
 * One version of a journey, as it was published.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/journeys/{id}/versions/{version}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, JOURNEY_VERSION_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, version: string, options?: CallOptions): Promise<S.JourneyVersion>;
/**
 * Publishes an earlier version again, or what was saved last, as the next version.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/journeys/{id}/versions/{version}/publish`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, JOURNEY_VERSION_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 JOURNEY_GRAPH_INVALID, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
publish(id: string, version: string, options?: CallOptions): Promise<S.Journey>;
};
/**
 * Moves the running runs of one version to another; `dry_run` only counts the outcomes.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/journeys/{id}/migrate-runs`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, JOURNEY_VERSION_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
migrateRuns(id: string, body: S.MigrateRunsBody, options?: CallOptions): Promise<S.MigrateRunsResult>;
/**
 * Counts the runs by node and outcome, the messages by stage, and the goals.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/journeys/{id}/stats`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, JOURNEY_VERSION_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
stats(id: string, query?: { /** Only runs of this version; a run counts for the one that it is on */ version?: number | undefined; }, options?: CallOptions): Promise<S.JourneyStats>;
/**
 * What it has brought, compared with the players who are held out, and the harm in each arm.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/journeys/{id}/uplift`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
uplift(id: string, options?: CallOptions): Promise<S.UpliftReport>;
/**
 * Starts a run of an active journey for one player, without its rules about entering.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/journeys/{id}/trigger`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 409 JOURNEY_INVALID_STATUS, IDEMPOTENCY_IN_PROGRESS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR, IDEMPOTENCY_KEY_REUSED; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 INGESTION_UNAVAILABLE, SERVICE_UNAVAILABLE.
 */
trigger(id: string, body: S.TriggerJourneyBody, options?: CallOptions): Promise<S.JourneyRun>;
runs: {
/**
 * Lists the runs of a journey, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/journeys/{id}/runs`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; status?: "running" | "completed" | "failed" | "cancelled" | undefined; player_id?: string | undefined; node_id?: string | undefined; }, options?: CallOptions): Promise<Page<S.JourneyRun>>;
/**
 * One run with its steps; the last step is at the current node.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/journeys/{id}/runs/{runId}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, JOURNEY_RUN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, runId: string, options?: CallOptions): Promise<S.JourneyRunWithHistory>;
/**
 * Cancels a run with its queued messages; cancelling it again changes nothing.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/journeys/{id}/runs/{runId}/cancel`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, JOURNEY_RUN_NOT_FOUND, PROJECT_NOT_FOUND; 409 JOURNEY_RUN_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
cancel(id: string, runId: string, options?: CallOptions): Promise<S.JourneyRun>;
/**
 * Cancels the running runs of a journey: all, those of one version, or those at one node.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/journeys/{id}/runs/cancel`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
cancelAll(id: string, body?: S.CancelRunsBody, options?: CallOptions): Promise<{ "cancelled": number; }>;
};
/**
 * Simulates a run of the journey as saved last, on a virtual clock: its steps, its messages and its end.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/journeys/{id}/simulate`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR, JOURNEY_GRAPH_INVALID, SEGMENT_TOO_EXPENSIVE; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
simulate(id: string, body?: S.SimulateJourneyBody, options?: CallOptions): Promise<S.JourneySimulation>;
deliveries: {
/**
 * The webhooks of a journey and their outcomes, the newest first; kept for 30 days.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/journeys/{id}/deliveries`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; status?: "pending" | "delivered" | "failed" | "cancelled" | undefined; run_id?: string | undefined; }, options?: CallOptions): Promise<Page<S.WebhookDelivery>>;
/**
 * Sends a failed webhook again, with the same body; its run is not affected.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/journeys/{id}/deliveries/{eventId}/retry`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 JOURNEY_NOT_FOUND, NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
retry(id: string, eventId: string, options?: CallOptions): Promise<S.WebhookDelivery>;
};
};
templates: {
/**
 * Lists templates that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/templates`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; channel?: "email" | "sms" | "push" | undefined; status?: "draft" | "active" | "archived" | undefined; }, options?: CallOptions): Promise<Page<S.Template>>;
/**
 * Creates a template; the default status is draft.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/templates`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 TEMPLATE_INVALID, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateTemplateBody, options?: CallOptions): Promise<S.Template>;
/**
 * One template, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/templates/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Template>;
/**
 * Changes a template, except its channel.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/templates/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 TEMPLATE_INVALID, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchTemplateBody, options?: CallOptions): Promise<S.Template>;
/**
 * Soft delete: campaigns that refer to it fail at their next send.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/templates/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Template>;
/**
 * Renders the template for a player; without a player_id, for a sample player.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/templates/{id}/preview`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 TEMPLATE_NOT_FOUND, PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 TEMPLATE_INVALID, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
preview(id: string, body?: S.PreviewTemplateBody, options?: CallOptions): Promise<S.TemplatePreview>;
/**
 * The rendered body as a page for a frame, in which no script runs and nothing is loaded.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/templates/{id}/preview-frame`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 TEMPLATE_NOT_FOUND, PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 TEMPLATE_INVALID, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
previewFrame(id: string, query?: { /** Absent: a synthetic player */ player_id?: string | undefined; /** As X-Tenant-Id, for callers that cannot set headers */ tenant_id?: string | undefined; /** As X-Project-Id, for callers that cannot set headers */ project_id?: string | undefined; }, options?: CallOptions): Promise<string>;
/**
 * The campaigns and journeys that use the template, at most 100 of each.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/templates/{id}/references`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
references(id: string, options?: CallOptions): Promise<S.TemplateReferences>;
/**
 * Sends the template to one address, without caps and quiet hours.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/templates/{id}/send-test`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 TEMPLATE_NOT_FOUND, PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 TEMPLATE_NOT_ACTIVE, PROVIDER_NOT_CONFIGURED, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
sendTest(id: string, body: S.SendTestBody, options?: CallOptions): Promise<S.SendTestResult>;
};
bonusTemplates: {
/**
 * Lists bonus templates that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/bonus-templates`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; status?: "active" | "paused" | undefined; type?: "deposit_match" | "reload" | "free_spins" | "no_deposit" | "cashback" | "free_bet" | undefined; }, options?: CallOptions): Promise<Page<S.BonusTemplate>>;
/**
 * Creates a bonus template; its config must match its type, and its terms the rules of the licence.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/bonus-templates`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 BONUS_CONFIG_INVALID, LICENCE_RULE_VIOLATED, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateBonusTemplateBody, options?: CallOptions): Promise<S.BonusTemplate>;
/**
 * One bonus template, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/bonus-templates/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.BonusTemplate>;
/**
 * Changes a bonus template, except its type; new terms are a new version, and live grants keep their terms.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/bonus-templates/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 BONUS_CONFIG_INVALID, LICENCE_RULE_VIOLATED, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchBonusTemplateBody, options?: CallOptions): Promise<S.BonusTemplate>;
/**
 * Soft delete: nothing is granted from it any more, and live grants continue.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/bonus-templates/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.BonusTemplate>;
};
bonusGrants: {
/**
 * Lists bonus grants, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/bonus-grants`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; player_id?: string | undefined; template_id?: string | undefined; campaign_id?: string | undefined; status?: "pending" | "active" | "completed" | "forfeited" | "expired" | "lost" | "cancelled" | "failed" | undefined; granted_by_kind?: "manual" | "api" | "journey" | "campaign" | "auto" | undefined; needs_review?: "true" | "false" | undefined; }, options?: CallOptions): Promise<Page<S.Grant>>;
/**
 * Grants a bonus; after 503 it is queued, and `details.grant_id` names it. An Idempotency-Key also stores errors of the platform.
 *
 * Admin session, role editor or above, or the internal secret; with the secret, X-Tenant-Id and X-Project-Id are required.
 *
 * `POST /v1/bonus-grants`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_TEMPLATE_NOT_FOUND, PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 409 BONUS_GRANT_LIMIT_REACHED, BONUS_BUDGET_EXCEEDED, BONUS_PAUSED, IDEMPOTENCY_IN_PROGRESS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 BONUS_TEMPLATE_NOT_ACTIVE, BONUS_CONFIG_INVALID, BONUS_DEPOSIT_AMOUNT_REQUIRED, BONUS_PLAYER_NOT_ELIGIBLE, VALIDATION_ERROR, IDEMPOTENCY_KEY_REUSED; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 502 ADAPTER_REJECTED; 503 ADAPTER_UNAVAILABLE, SERVICE_UNAVAILABLE.
 */
create(body: S.CreateGrantBody, options?: CallOptions): Promise<S.Grant>;
/**
 * One bonus grant with its history.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/bonus-grants/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_GRANT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.GrantWithHistory>;
/**
 * Asks the platform to cancel the bonus; a bonus that was not sent is cancelled at once.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/bonus-grants/{id}/cancel`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_GRANT_NOT_FOUND, PROJECT_NOT_FOUND; 409 BONUS_GRANT_INVALID_STATUS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 502 ADAPTER_REJECTED; 503 ADAPTER_UNAVAILABLE, SERVICE_UNAVAILABLE.
 */
cancel(id: string, body?: S.CancelGrantBody, options?: CallOptions): Promise<S.Grant>;
};
bonusCampaigns: {
/**
 * Lists bonus campaigns, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/bonus-campaigns`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; status?: "draft" | "scheduled" | "issuing" | "issued" | "paused" | "cancelled" | undefined; }, options?: CallOptions): Promise<Page<S.BonusCampaign>>;
/**
 * Creates a draft of a bonus campaign; with a time in `schedule_at` it is issued then.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/bonus-campaigns`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 BONUS_DEPOSIT_AMOUNT_REQUIRED, BONUS_CONFIG_INVALID, LICENCE_RULE_VIOLATED, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateBonusCampaignBody, options?: CallOptions): Promise<S.BonusCampaign>;
/**
 * One bonus campaign with the outcomes of its members.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/bonus-campaigns/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.BonusCampaign>;
/**
 * Changes a draft or scheduled bonus campaign; `status` alone pauses, resumes or cancels one that is being issued.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/bonus-campaigns/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_CAMPAIGN_NOT_FOUND, BONUS_TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 409 BONUS_CAMPAIGN_INVALID_STATUS; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 BONUS_DEPOSIT_AMOUNT_REQUIRED, BONUS_CONFIG_INVALID, LICENCE_RULE_VIOLATED, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchBonusCampaignBody, options?: CallOptions): Promise<S.BonusCampaign>;
/**
 * Grants the template to the members of the segment, in the background; `dry_run=true` only counts, and writes nothing.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/bonus-campaigns/{id}/issue`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_CAMPAIGN_NOT_FOUND, BONUS_TEMPLATE_NOT_FOUND, PROJECT_NOT_FOUND; 409 BONUS_CAMPAIGN_INVALID_STATUS, IDEMPOTENCY_IN_PROGRESS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 BONUS_TEMPLATE_NOT_ACTIVE, BONUS_DEPOSIT_AMOUNT_REQUIRED, BONUS_CONFIG_INVALID, LICENCE_RULE_VIOLATED, VALIDATION_ERROR, IDEMPOTENCY_KEY_REUSED; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
issue(id: string, query?: { dry_run?: "true" | "false" | undefined; }, options?: CallOptions): Promise<S.IssueResult>;
/**
 * What it has brought, compared with the players who are held out, and the harm in each arm.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/bonus-campaigns/{id}/uplift`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 BONUS_CAMPAIGN_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
uplift(id: string, options?: CallOptions): Promise<S.UpliftReport>;
};
messagingProviders: {
/**
 * Lists messaging providers that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/messaging-providers`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; channel?: "email" | "sms" | "push" | undefined; kind?: "smtp" | "sendgrid" | "twilio" | "fcm" | "sandbox" | undefined; status?: "active" | "paused" | undefined; }, options?: CallOptions): Promise<Page<S.Provider>>;
/**
 * Creates a messaging provider; without a kind it is a sandbox, which keeps messages instead of sending them.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/messaging-providers`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateProviderBody, options?: CallOptions): Promise<S.Provider>;
/**
 * One messaging provider, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/messaging-providers/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROVIDER_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Provider>;
/**
 * Changes a messaging provider; fields that `config` does not name are kept.
 *
 * Admin session, role admin or above.
 *
 * `PATCH /v1/messaging-providers/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROVIDER_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchProviderBody, options?: CallOptions): Promise<S.Provider>;
/**
 * Soft delete: it sends nothing from now on, and its secrets are deleted.
 *
 * Admin session, role admin or above.
 *
 * `DELETE /v1/messaging-providers/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROVIDER_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Provider>;
/**
 * The messages that a sandbox received, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/messaging-providers/{id}/messages`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROVIDER_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
messages(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; recipient?: string | undefined; send_id?: string | undefined; }, options?: CallOptions): Promise<Page<S.SandboxMessage>>;
};
webhookSecrets: {
/**
 * Lists the secrets of webhooks, the newest first; the newest one signs.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/webhook-secrets`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.WebhookSecret>>;
/**
 * Creates a secret, which signs webhooks from now on; only this response shows it.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/webhook-secrets`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(options?: CallOptions): Promise<S.CreatedWebhookSecret>;
/**
 * Deletes a secret: it signs nothing from now on.
 *
 * Admin session, role admin or above.
 *
 * `DELETE /v1/webhook-secrets/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.WebhookSecret>;
};
webhookDeliveries: {
/**
 * The webhooks of all journeys of the project, the newest first; kept for 30 days.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/webhook-deliveries`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; status?: "pending" | "delivered" | "failed" | "cancelled" | undefined; }, options?: CallOptions): Promise<Page<S.ProjectWebhookDelivery>>;
};
eventSubscriptions: {
/**
 * Lists the event subscriptions with the state of their deliveries, the newest first.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/event-subscriptions`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.EventSubscription>>;
/**
 * Creates an event subscription; only this response shows its secret.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/event-subscriptions`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateEventSubscriptionBody, options?: CallOptions): Promise<S.EventSubscriptionWithSecret>;
/**
 * One event subscription, also a deleted one.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/event-subscriptions/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.EventSubscription>;
/**
 * Changes an event subscription; what waits goes to the new URL, too.
 *
 * Admin session, role admin or above.
 *
 * `PATCH /v1/event-subscriptions/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchEventSubscriptionBody, options?: CallOptions): Promise<S.EventSubscription>;
/**
 * Soft delete: it is sent nothing from now on, and what waits is removed.
 *
 * Admin session, role admin or above.
 *
 * `DELETE /v1/event-subscriptions/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.EventSubscription>;
/**
 * The events of a subscription and what became of them, the newest first; kept for 7 days.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/event-subscriptions/{id}/deliveries`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
deliveries(id: string, query?: { cursor?: string | undefined; limit?: number | undefined; status?: "pending" | "delivered" | "failed" | "cancelled" | undefined; }, options?: CallOptions): Promise<Page<S.EventDelivery>>;
/**
 * Sends nothing until it is enabled; what happens meanwhile waits.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/event-subscriptions/{id}/pause`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
pause(id: string, options?: CallOptions): Promise<S.EventSubscription>;
/**
 * Sends what has waited, and what happens from now on.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/event-subscriptions/{id}/enable`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
enable(id: string, options?: CallOptions): Promise<S.EventSubscription>;
/**
 * Creates a new secret, which alone signs from now on; only this response shows it.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/event-subscriptions/{id}/rotate-secret`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
rotateSecret(id: string, options?: CallOptions): Promise<S.EventSubscriptionWithSecret>;
/**
 * Queues the event subscription.test; its delivery shows what the receiver answered.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/event-subscriptions/{id}/test`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
test(id: string, options?: CallOptions): Promise<{ "event_id": string; }>;
/**
 * Sends again what was queued since a time within the last 7 days, with the same ids and bytes.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/event-subscriptions/{id}/replay`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
replay(id: string, body: S.ReplayEventsBody, options?: CallOptions): Promise<S.EventSubscription>;
};
messagingWebhooks: {
/**
 * SendGrid's Event Webhook: deliveries, opens, clicks, bounces, complaints, unsubscriptions.
 *
 * Signed by the provider, over the request as it is sent; a bad signature is 401.
 *
 * `POST /v1/messaging-webhooks/sendgrid`
 *
 * Errors: 400 BODY_MALFORMED; 401 FORBIDDEN; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
sendgrid(query?: { /** The messaging provider whose callbacks they are */ provider_id?: string | undefined; }, options?: CallOptions): Promise<S.CallbackResult>;
/**
 * Twilio's status callbacks of messages, and players' replies: STOP suppresses the number, START ends the suppression.
 *
 * Signed by the provider, over the request as it is sent; a bad signature is 401.
 *
 * `POST /v1/messaging-webhooks/twilio`
 *
 * Errors: 400 BODY_MALFORMED; 401 FORBIDDEN; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
twilio(query?: { /** The messaging provider whose callbacks they are */ provider_id?: string | undefined; /** The message */ send_id?: string | undefined; }, options?: CallOptions): Promise<S.CallbackResult>;
};
unsubscribe: {
/**
 * A page that asks whether to unsubscribe; it changes nothing, because mail scanners follow links.
 *
 * No credential.
 *
 * `GET /v1/unsubscribe`
 *
 * Errors: 404 NOT_FOUND; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(query?: { /** Of the link in the message */ token?: string | undefined; }, options?: CallOptions): Promise<string>;
/**
 * Unsubscribes: by the page, or by a mail program (RFC 8058).
 *
 * No credential.
 *
 * `POST /v1/unsubscribe`
 *
 * Errors: 400 BODY_MALFORMED; 404 NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
confirm(query?: { /** Of the link in the message */ token?: string | undefined; }, options?: CallOptions): Promise<string>;
};
currencies: {
/**
 * The tenant's currency catalogue: the base currency, then the others by code.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/currencies`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(options?: CallOptions): Promise<Array<S.Currency>>;
/**
 * Adds a currency to the catalogue; intake takes events in it within 30 s.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/currencies`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 409 CONFLICT, IDEMPOTENCY_IN_PROGRESS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR, IDEMPOTENCY_KEY_REUSED; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateCurrencyBody, options?: CallOptions): Promise<S.Currency>;
/**
 * Changes a currency; `scale` is fixed once the ledger has an amount in it, and that of the base currency always.
 *
 * Admin session, role admin or above.
 *
 * `PATCH /v1/currencies/{code}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 CURRENCY_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(code: string, body: S.PatchCurrencyBody, options?: CallOptions): Promise<S.Currency>;
/**
 * The latest rate from one currency to another, if necessary inverted or through the base currency.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/currencies/fx`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 FX_RATE_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
fx(query: { /** A code of the catalogue */ base: string; /** A code of the catalogue */ quote: string; }, options?: CallOptions): Promise<S.Rate>;
rates: {
/**
 * The stored rates of a pair, from providers and manual, the latest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/currencies/rates`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query: { cursor?: string | undefined; limit?: number | undefined; /** A code of the catalogue */ base: string; /** A code of the catalogue */ quote: string; }, options?: CallOptions): Promise<Page<S.StoredRate>>;
/**
 * Sets a rate that holds from `ts`, else from now on, until a later rate of the pair; events since then are restated.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/currencies/rates`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 409 CONFLICT, IDEMPOTENCY_IN_PROGRESS; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR, IDEMPOTENCY_KEY_REUSED; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateRateBody, options?: CallOptions): Promise<S.StoredRate>;
};
};
deadLetters: {
/**
 * The project's events that could not be folded, the newest first, with the reason.
 *
 * Admin session, role admin or above.
 *
 * `GET /v1/dead-letters`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { limit?: number | undefined; cursor?: string | undefined; reason?: "MALFORMED_RECORD" | "UNKNOWN_PLAYER" | "CONFLICTING_DUPLICATE" | "DUPLICATE_DIFFERS" | "AMOUNT_OUT_OF_RANGE" | "POISON_RECORD" | undefined; }, options?: CallOptions): Promise<Page<S.DeadLetter>>;
/**
 * Sends dead letters of the project through the fold again, each once unless forced.
 *
 * Admin session, role admin or above.
 *
 * `POST /v1/dead-letters/replay`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
replay(body: { "letters": Array<S.DeadLetterPosition>; /** Where to begin: the cursor of the page that has them, or the previous `next_cursor` */ "cursor"?: string | undefined; /** Also letters replayed before, or with an unknown outcome */ "force"?: boolean | undefined; } | { "all": true; "reason"?: "MALFORMED_RECORD" | "UNKNOWN_PLAYER" | "CONFLICTING_DUPLICATE" | "DUPLICATE_DIFFERS" | "AMOUNT_OUT_OF_RANGE" | "POISON_RECORD" | undefined; /** Where to begin: the cursor of the page that has them, or the previous `next_cursor` */ "cursor"?: string | undefined; /** Also letters replayed before, or with an unknown outcome */ "force"?: boolean | undefined; }, options?: CallOptions): Promise<S.OwnReplayReport>;
};
rejectedEvents: {
/**
 * Events and requests of the last 7 days that intake refused, by cause and day, the latest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/rejected-events`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.RejectedEvent>>;
};
/**
 * The events of the project as they are accepted, at most 50 a second.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/event-stream`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
eventStream(query?: { /** As X-Tenant-Id, for callers that cannot set headers */ tenant_id?: string | undefined; /** As X-Project-Id, for callers that cannot set headers */ project_id?: string | undefined; /** Events of this name alone */ event?: string | undefined; /** Events of this player alone, by any of its ids */ player_id?: string | undefined; /** Ends after so long */ max_s?: number | undefined; }, options?: CallOptions): Promise<string>;
/**
 * Sends one event of a made-up visitor, whose path then shows that events are processed.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/test-events`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 INGESTION_UNAVAILABLE, SERVICE_UNAVAILABLE.
 */
testEvents(options?: CallOptions): Promise<S.SentTestEvent>;
eventSearch: {
/**
 * Events of the last day, or of up to 90 days, the newest first by event time.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/event-search`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; event?: string | undefined; player_id?: string | undefined; /** Event times from here on; default: a day before `to` */ from?: string | undefined; /** Event times before this; default: now */ to?: string | undefined; }, options?: CallOptions): Promise<Page<S.FoundEvent>>;
};
eventTrace: {
/**
 * The path of one event: accepted, folded, in ClickHouse, segments entered since.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/event-trace/{ingestion_id}/{index}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 EVENT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(ingestion_id: string, index: string, options?: CallOptions): Promise<S.EventTrace>;
};
/**
 * Figures of a range (default: today), of the range to compare with, and of now.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/overview`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
overview(query?: { /** Event times from here on */ from?: string | undefined; /** Event times before this; default: now */ to?: string | undefined; /** Instead of `from`: this many days of the reporting time zone up to `to`, its own day included */ days?: number | undefined; }, options?: CallOptions): Promise<S.Overview>;
/**
 * A metric of the project by hour, day or week; at most 1,000 points, without events 0.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/series`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
series(query: { metric: "deposits" | "withdrawals" | "deposits_reversed" | "withdrawals_reversed" | "wagered" | "won" | "bonus_wagered" | "bonus_won" | "ggr" | "credited" | "debited" | "ngr" | "active_players" | "first_deposits" | "new_players" | "signups" | "events" | "messages_sent" | "messages_delivered" | "messages_opened" | "messages_clicked" | "messages_bounced" | "messages_skipped"; /** By local time in the reporting time zone; weeks begin on Monday */ interval?: "hour" | "day" | "week" | undefined; /** Event times from here on */ from?: string | undefined; /** Event times before this; default: now */ to?: string | undefined; /** Instead of `from`: this many days of the reporting time zone up to `to`, its own day included */ days?: number | undefined; /** For `events` alone */ event?: string | undefined; }, options?: CallOptions): Promise<S.Series>;
insights: {
/**
 * Figures of a project: series over time, also by group and compared with another range.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/insights/query`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, INSIGHT_TOO_EXPENSIVE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
query(body: S.InsightQuery, options?: CallOptions): Promise<S.InsightAnswer>;
/**
 * The players of a figure, with what each adds to it, the largest first, and how many must be left alone.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/insights/players`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, INSIGHT_TOO_EXPENSIVE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
players(body: S.InsightPlayersBody, options?: CallOptions): Promise<Page<S.InsightPlayer> & S.InsightPlayersMeta>;
/**
 * What every metric is called and means.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/insights/metrics`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
metrics(options?: CallOptions): Promise<Array<S.InsightMetric>>;
/**
 * Creates a segment of the players of a figure; a list is written soon after.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/insights/segment`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, INSIGHT_NOT_A_SEGMENT, INSIGHT_TOO_EXPENSIVE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
segment(body: S.InsightSegmentBody, options?: CallOptions): Promise<S.InsightSegment>;
/**
 * Lists insights that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/insights`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.Insight>>;
/**
 * Saves a query.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/insights`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateInsightBody, options?: CallOptions): Promise<S.Insight>;
/**
 * One insight, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/insights/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 INSIGHT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Insight>;
/**
 * Changes a saved insight.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/insights/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 INSIGHT_NOT_FOUND, PROJECT_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchInsightBody, options?: CallOptions): Promise<S.Insight>;
/**
 * Soft delete. Refused while a dashboard shows it.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/insights/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 INSIGHT_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Insight>;
};
dashboards: {
/**
 * Lists dashboards that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/dashboards`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.Dashboard>>;
/**
 * Creates a dashboard of up to 24 saved insights.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/dashboards`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateDashboardBody, options?: CallOptions): Promise<S.Dashboard>;
/**
 * One dashboard, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/dashboards/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 DASHBOARD_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Dashboard>;
/**
 * Changes a dashboard.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/dashboards/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 DASHBOARD_NOT_FOUND, PROJECT_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchDashboardBody, options?: CallOptions): Promise<S.Dashboard>;
/**
 * Soft delete; its insights stay. Refused while a report sends it.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/dashboards/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 DASHBOARD_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Dashboard>;
};
alerts: {
/**
 * Lists alerts that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/alerts`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.Alert>>;
/**
 * Creates an alert: intervals are decided once they are over.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/alerts`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateAlertBody, options?: CallOptions): Promise<S.Alert>;
/**
 * One alert, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/alerts/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 ALERT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Alert>;
/**
 * Changes an alert; intervals that are decided stay so.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/alerts/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 ALERT_NOT_FOUND, SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchAlertBody, options?: CallOptions): Promise<S.Alert>;
/**
 * Soft delete; notices that wait are still sent.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/alerts/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 ALERT_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Alert>;
/**
 * Which intervals of the last 90 days would have fired.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/alerts/preview`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 SEGMENT_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 SEGMENT_DEFINITION_INVALID, INSIGHT_TOO_EXPENSIVE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
preview(body: S.PreviewAlertBody, options?: CallOptions): Promise<S.AlertPreview>;
};
reports: {
/**
 * Lists reports that are not deleted, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/reports`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.Report>>;
/**
 * Creates a report: the tiles of a dashboard by a schedule.
 *
 * Admin session, role editor or above.
 *
 * `POST /v1/reports`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.CreateReportBody, options?: CallOptions): Promise<S.Report>;
/**
 * One report, also a deleted one.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/reports/{id}`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 REPORT_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
get(id: string, options?: CallOptions): Promise<S.Report>;
/**
 * Changes a report; with another schedule it begins anew.
 *
 * Admin session, role editor or above.
 *
 * `PATCH /v1/reports/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 REPORT_NOT_FOUND, PROJECT_NOT_FOUND; 412 PRECONDITION_FAILED; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 FIELD_NOT_WRITABLE, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
update(id: string, body: S.PatchReportBody, options?: CallOptions): Promise<S.Report>;
/**
 * Soft delete; notices that wait are still sent.
 *
 * Admin session, role editor or above.
 *
 * `DELETE /v1/reports/{id}`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 REPORT_NOT_FOUND, PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
delete(id: string, options?: CallOptions): Promise<S.Report>;
/**
 * When a report is sent, and what it would say now.
 *
 * Admin session, role viewer or above.
 *
 * `POST /v1/reports/preview`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
preview(body: S.PreviewReportBody, options?: CallOptions): Promise<S.ReportPreview>;
};
compliance: {
exclusions: {
/**
 * Self-exclusions and breaks with start and end, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/compliance/exclusions`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; state?: "active" | "ended" | undefined; kind?: "self_exclusion" | "cooldown" | undefined; player_id?: string | undefined; /** At this time or later */ from?: string | undefined; /** Before this time */ to?: string | undefined; }, options?: CallOptions): Promise<Page<S.Exclusion>>;
/**
 * Excludes a player, or begins a break, with a reason; it holds from the answer on, as by an event.
 *
 * Admin session, role compliance, admin or owner.
 *
 * `POST /v1/compliance/exclusions`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
create(body: S.ExcludeBody, options?: CallOptions): Promise<S.Exclusion>;
/**
 * What a player got while excluded: every message and bonus that was handed over, and what was stopped.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/compliance/exclusions/{player_id}/proof`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
proof(player_id: string, options?: CallOptions): Promise<S.ExclusionProof>;
/**
 * Ends the self-exclusion of a player, with a reason; a break ends by itself.
 *
 * Admin session, role compliance, admin or owner.
 *
 * `POST /v1/compliance/exclusions/{player_id}/lift`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
lift(player_id: string, body: S.LiftExclusionBody, options?: CallOptions): Promise<S.Exclusion>;
};
/**
 * The exclusions in force in a period, the newest first, each with what was handed over in the period.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/compliance/period-proof`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
periodProof(query: { cursor?: string | undefined; limit?: number | undefined; /** Begin of the period */ from: string; /** End of the period, not included; at most 366 days after the begin */ to: string; }, options?: CallOptions): Promise<Page<S.PeriodProof>>;
/**
 * Messages that were not sent in order to protect their players, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/compliance/blocked-sends`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
blockedSends(query?: { cursor?: string | undefined; limit?: number | undefined; player_id?: string | undefined; code?: "SKIPPED_SELF_EXCLUDED" | "SKIPPED_COOLDOWN" | "SKIPPED_AT_RISK" | "SKIPPED_BANNED" | undefined; /** At this time or later */ from?: string | undefined; /** Before this time */ to?: string | undefined; }, options?: CallOptions): Promise<Page<S.BlockedSend>>;
conflicts: {
/**
 * Players whose ids name two people, the newest first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/compliance/conflicts`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.IdentityConflict>>;
/**
 * Ends the review of a player in conflict: the player is active again, and the note is in the audit log.
 *
 * Admin session, role compliance, admin or owner.
 *
 * `POST /v1/compliance/conflicts/{id}/resolve`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PLAYER_NOT_FOUND, PROJECT_NOT_FOUND; 409 CONFLICT; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
resolve(id: string, body: S.ResolveConflictBody, options?: CallOptions): Promise<S.ResolvedConflict>;
};
/**
 * Players whose verification waits for a decision, the newest players first.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/compliance/kyc-queue`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
kycQueue(query?: { cursor?: string | undefined; limit?: number | undefined; }, options?: CallOptions): Promise<Page<S.KycWaiting>>;
/**
 * The licence of the tenant, and the rules for bonuses and messages that hold now.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/compliance/licence`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
licence(options?: CallOptions): Promise<S.LicenceInForce>;
};
search: {
/**
 * Finds up to 5 segments, campaigns, journeys and templates each, by name or id.
 *
 * Admin session, role viewer or above.
 *
 * `GET /v1/search`
 *
 * Errors: 401 UNAUTHORIZED; 403 FORBIDDEN; 404 PROJECT_NOT_FOUND; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 SERVICE_UNAVAILABLE.
 */
list(query: { /** Words that the name has, in any order and letter case; or an id */ q: string; }, options?: CallOptions): Promise<Array<S.FoundRecord>>;
};
/**
 * This document.
 *
 * No credential.
 *
 * `GET /openapi.json`
 *
 * Errors: 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR.
 */
openapiJson(options?: CallOptions): Promise<Record<string, unknown>>;
events: {
/**
 * Accepts one event; 202 when it is durably queued.
 *
 * API key.
 *
 * `POST /v1/events`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 KEY_KIND_FORBIDDEN, FORBIDDEN; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 IDENTITY_REQUIRED, PROPERTIES_INVALID, VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 INGESTION_UNAVAILABLE, SERVICE_UNAVAILABLE.
 */
send(body?: S.Event, options?: CallOptions): Promise<{ "ingestion_id": string; "accepted": true; "tenant_id": string; "project_id": string; }>;
/**
 * Accepts the valid events of a batch of up to 100.
 *
 * API key.
 *
 * `POST /v1/events/batch`
 *
 * Errors: 400 BODY_MALFORMED; 401 UNAUTHORIZED; 403 FORBIDDEN; 413 PAYLOAD_TOO_LARGE; 415 UNSUPPORTED_MEDIA_TYPE; 422 VALIDATION_ERROR; 429 RATE_LIMITED; 431 HEADERS_TOO_LARGE; 500 INTERNAL_ERROR; 503 INGESTION_UNAVAILABLE, SERVICE_UNAVAILABLE.
 */
sendBatch(body: S.EventBatch, options?: CallOptions): Promise<{ "ingestion_id": string; "accepted": number; "rejected": Array<{ "index": number; "code": string; "reason": string; }>; }>;
};
}
