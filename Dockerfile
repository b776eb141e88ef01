# One image for every role; ROLES chooses which of them a container runs.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json vitest.config.ts ./
COPY src ./src
COPY processors ./processors
COPY scripts ./scripts
COPY bench ./bench
COPY test/engines ./test/engines
COPY test/crash ./test/crash
RUN npm run build && npm prune --omit=dev

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY pg-migrations ./pg-migrations
COPY clickhouse ./clickhouse
RUN mkdir data && chown node:node data
USER node
VOLUME /app/data
EXPOSE 8080 8081
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 CMD ["node", "-e", "\
fetch(`http://127.0.0.1:${process.env.PORT || 8080}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1));"]
CMD ["node", "--max-semi-space-size=64", "dist/src/main.js"]
