# JupyterLab with storm_lab:
#   docker build -t storm-lab . && docker run --rm -p 127.0.0.1:8888:8888 storm-lab
FROM python:3.12-slim
RUN useradd --create-home lab
COPY requirements.lock /tmp/
RUN pip install --no-cache-dir --no-deps -r /tmp/requirements.lock
COPY . /tmp/storm_lab
RUN pip install --no-cache-dir --no-deps --no-build-isolation /tmp/storm_lab && rm -rf /tmp/storm_lab
USER lab
WORKDIR /home/lab
RUN storm-lab init .
EXPOSE 8888
CMD ["storm-lab", "lab", "--no-browser", "--ip=0.0.0.0"]
