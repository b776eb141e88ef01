# One image for every role; ROLES chooses which of them a container runs. See docs/deploying.md.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY clients/js/package.json ./clients/js/
COPY console/package.json ./console/
# With the optional packages: the bundler of the console has a native part among them, for this platform.
RUN npm ci
COPY tsconfig.json tsconfig.build.json tsconfig.production.json ./
COPY src ./src
COPY processors ./processors
COPY scripts ./scripts
COPY clients ./clients
COPY console ./console
RUN npm run build:production

# Without the compiler, and without the engines that only the embedded mode needs.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY clients/js/package.json ./clients/js/
COPY console/package.json ./console/
RUN npm ci --omit=dev --omit=optional

FROM node:24-bookworm-slim
# A small young generation: an idle role then takes about 100 MB. Roles with many events need a larger one.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=4 HOST=0.0.0.0
WORKDIR /app
COPY package.json ./
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY pg-migrations ./pg-migrations
COPY clickhouse ./clickhouse
COPY openapi ./openapi
RUN mkdir data && chown 1000:1000 data
# By number: Kubernetes cannot tell from a name that it is not root (runAsNonRoot).
USER 1000:1000
VOLUME /app/data
EXPOSE 8080 8081
# Every role serves /healthz, on OPS_PORT or, without it, on PORT.
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 CMD ["node", "-e", "\
const { PORT, OPS_PORT, OPS_HOST } = process.env; \
const host = OPS_PORT && OPS_HOST && !['0.0.0.0', '::'].includes(OPS_HOST) ? OPS_HOST : '127.0.0.1'; \
fetch(`http://${host.includes(':') ? `[${host}]` : host}:${OPS_PORT || PORT || 8080}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1));"]
# With a limit of the heap, V8 collects garbage earlier: without one it takes 4 GB on a large machine for the measure.
CMD ["node", "--max-old-space-size=1024", "dist/src/main.js"]
