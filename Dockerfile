# The gateway in a container: docs/deployment.md#docker. The base is Debian with the Bun that the tests run on.
FROM oven/bun:1.4.5-slim AS program
WORKDIR /app
COPY package.json bun.lock ./
RUN bun install --frozen-lockfile --production --ignore-scripts
COPY console console
COPY plugins plugins
COPY scripts scripts
COPY src src
# The bundle has all that the packages do. Without the list of its sources nobody compares it with them at each start.
RUN bun scripts/consolePackages.ts && bun scripts/bundle.ts && rm -r bundle/sources.json bundle/console-sources.json console node_modules

FROM oven/bun:1.4.5-slim
COPY --from=program /app /app
RUN ln -s /app/src/main.ts /usr/local/bin/headgate && install -d -o 1000 -g 1000 -m 0700 /headgate /headgate/data

# An installation: headgate.config.json and plugins in /headgate, everything that is written in /headgate/data.
WORKDIR /headgate
# By its number, since Kubernetes cannot tell from a name that it is not root. The base calls it bun.
USER 1000:1000
# `container` says that the log is kept, so that the first keys go to a file in the volume.
ENV HEADGATE_HOSTNAME=0.0.0.0 BUN_CONFIG_MAX_HTTP_REQUESTS=8192 container=docker
VOLUME /headgate/data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD NO_PROXY=127.0.0.1 bun -e "process.exit((await fetch('http://127.0.0.1:' + (process.env.HEADGATE_PORT || 8787) + '/healthz')).ok ? 0 : 1)"
ENTRYPOINT ["headgate"]
CMD ["serve"]
