# Two stages: a static binary, and a small runtime image with what the bot
# needs beside itself: git, and bubblewrap for the sandbox. Test toolchains of
# the repositories that it debugs are added by whoever runs it (FROM this image).
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The commit, for the version; git's own folder is not copied here.
ARG REVISION=""
RUN scripts/build /culprit

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git bubblewrap \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --create-home --home-dir /var/lib/culprit culprit
COPY --from=build /culprit /usr/local/bin/culprit
USER culprit
WORKDIR /var/lib/culprit
ENV CULPRIT_DATA=/var/lib/culprit
EXPOSE 8080
ENTRYPOINT ["culprit"]
CMD ["serve", "--work"]
